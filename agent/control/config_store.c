#include "agent/control/config_store.h"
#include "agent/control/settings.h"
#include "common/cleanup.h"
#include "common/fsutil.h"
#include "common/json.h"
#include "common/log.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOC_MAX   (HW_CONFIG_BODY_MAX * 2u)
#define STATE_MAX 65536

/* Refused revisions never come back, also when there were more than a report has room for. */
#define REFUSED_KEPT 256

struct config_store {
    char confirmed_path[PATH_MAX], candidate_path[PATH_MAX], state_path[PATH_MAX];
    struct hw_id gateway;
    struct stored_config *confirmed, *candidate;
    struct state {
        uint64_t received;
        struct hw_id candidate_boot;
        struct report_refused refused[REFUSED_KEPT];
        size_t n_refused;
    } state;
};

struct stored_config *stored_config_ref(struct stored_config *c)
{
    c->refs++;
    return c;
}

void stored_config_unref(struct stored_config *c)
{
    if (!c || --c->refs > 0)
        return;
    signed_doc_done(&c->doc);
    gateway_config_done(&c->config);
    free(c);
}

static int state_decode(const char *text, size_t len, struct state *out, struct err *e)
{
    static const char *const members[] = {"received", "candidate_boot_id", "refused", NULL};
    static const char *const entry[] = {"revision", "reason", NULL};
    struct json_object *doc;
    int rc = json_parse(text, len, STATE_MAX * 4, &doc, e);
    if (rc < 0)
        return rc;
    struct json_at top = json_root(doc), list;
    size_t n = 0;
    if ((rc = json_members(&top, members, e)) == 0 &&
        (rc = json_get_uint(&top, "received", 0, INT64_MAX, &out->received, e)) == 0 &&
        (!json_has(&top, "candidate_boot_id") ||
         (rc = json_get_id(&top, "candidate_boot_id", &out->candidate_boot, e)) == 0))
        rc = json_get_array(&top, "refused", REFUSED_KEPT, &list, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct json_at at = json_element(&list, i);
        struct report_refused *r = &out->refused[i];
        if ((rc = json_members(&at, entry, e)) == 0 &&
            (rc = json_get_uint(&at, "revision", 0, INT64_MAX, &r->revision, e)) == 0)
            rc = json_get_text(&at, "reason", r->reason, sizeof r->reason, e);
        out->n_refused = i + 1;
    }
    json_free(doc);
    return rc;
}

static int state_write(const struct config_store *s, const struct state *state, struct err *e)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_uint(&w, "received", state->received);
    if (!id_is_zero(&state->candidate_boot))
        json_put_id(&w, "candidate_boot_id", &state->candidate_boot);
    json_open_array(&w, "refused");
    for (size_t i = 0; i < state->n_refused; i++) {
        json_open_object(&w, NULL);
        json_put_uint(&w, "revision", state->refused[i].revision);
        json_put_str(&w, "reason", state->refused[i].reason);
        json_close(&w);
    }
    json_close(&w);
    size_t len;
    auto_free char *text = json_finish(&w, &len);
    if (!text)
        return err_set(e, HW_ENOMEM, "out of memory");
    return fsutil_write(s->state_path, text, len, 0600, e);
}

/* Adds a refusal, dropping the oldest when full. */
static void state_refuse(struct state *state, uint64_t revision, const char *reason)
{
    if (state->n_refused == REFUSED_KEPT) {
        memmove(state->refused, state->refused + 1, (REFUSED_KEPT - 1) * sizeof *state->refused);
        state->n_refused--;
    }
    struct report_refused *r = &state->refused[state->n_refused++];
    r->revision = revision;
    (void)snprintf(r->reason, sizeof r->reason, "%s", reason);
}

/* Without the file a revision that cut this gateway off could be applied again, so it is not passed
 * over in silence. */
static int load_state(struct config_store *s, struct err *e)
{
    auto_free char *text = NULL;
    size_t len;
    int rc = fsutil_read(s->state_path, STATE_MAX * 4, &text, &len, e);
    if (rc == HW_ENOTFOUND)
        return 0;
    if (rc == 0)
        rc = state_decode(text, len, &s->state, e);
    if (rc < 0 && rc != HW_ENOMEM)
        (void)err_wrap(
            e,
            "the book of revisions can't be used: restore %s from a backup, or remove it "
            "and start hawser-agent again; revisions refused before may then be tried "
            "once more. The reason",
            s->state_path);
    return rc;
}

/* Judges a document of ours and decodes its body. *doc is taken over on success only. */
static int make_stored(struct config_store *s, struct signed_doc *doc, struct stored_config **out,
                       struct err *e)
{
    struct stored_config *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = gateway_config_decode(doc->body, doc->body_len, &c->config, e);
    if (rc == 0 && !id_equal(&c->config.gateway_id, &s->gateway)) {
        gateway_config_done(&c->config);
        rc = err_set(e, HW_EINVAL, "the config is for another gateway");
    }
    if (rc < 0) {
        free(c);
        return rc;
    }
    c->refs = 1;
    c->doc = *doc;
    *doc = (struct signed_doc){0};
    *out = c;
    return 0;
}

static int load_config(struct config_store *s, const char *path, const struct x509_st *ca,
                       struct stored_config **out, struct err *e)
{
    auto_free char *text = NULL;
    size_t len;
    int rc = fsutil_read(path, DOC_MAX, &text, &len, e);
    if (rc < 0)
        return rc;
    struct signed_doc doc = {0};
    rc = signed_doc_decode(text, len, &doc, e);
    if (rc == 0)
        rc = signed_config_verify(&doc, &s->gateway, ca, doc.accepted_at, e);
    if (rc == 0)
        rc = make_stored(s, &doc, out, e);
    signed_doc_done(&doc);
    return rc;
}

static void load_or_tell(struct config_store *s, const char *path, const struct x509_st *ca,
                         struct stored_config **out)
{
    struct err e = {0};
    int rc = load_config(s, path, ca, out, &e);
    if (rc < 0 && rc != HW_ENOTFOUND)
        log_error("config on disk is not used file=%s: %s", path, e.text);
}

int config_store_open(const char *state_dir, const struct hw_id *gateway, const struct x509_st *ca,
                      struct config_store **out, struct err *e)
{
    struct config_store *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, HW_ENOMEM, "out of memory");
    s->gateway = *gateway;
    int rc;
    if ((rc = agent_path(state_dir, "config-confirmed.doc", s->confirmed_path, PATH_MAX, e)) < 0 ||
        (rc = agent_path(state_dir, "config-candidate.doc", s->candidate_path, PATH_MAX, e)) < 0 ||
        (rc = agent_path(state_dir, "config-state.json", s->state_path, PATH_MAX, e)) < 0 ||
        (rc = load_state(s, e)) < 0) {
        (void)err_wrap(e, "config store");
        config_store_free(s);
        return rc;
    }
    load_or_tell(s, s->confirmed_path, ca, &s->confirmed);
    load_or_tell(s, s->candidate_path, ca, &s->candidate);
    if (s->candidate) {
        uint64_t revision = s->candidate->doc.revision;
        s->candidate->boot = s->state.candidate_boot;
        /* A crash between two writes may leave a candidate that was refused or confirmed already.
         */
        if (config_store_is_refused(s, revision) ||
            (s->confirmed && s->confirmed->doc.revision >= revision)) {
            stored_config_unref(s->candidate);
            s->candidate = NULL;
            (void)fsutil_remove(s->candidate_path, NULL);
        }
    }
    *out = s;
    return 0;
}

void config_store_free(struct config_store *s)
{
    if (!s)
        return;
    stored_config_unref(s->confirmed);
    stored_config_unref(s->candidate);
    free(s);
}

struct stored_config *config_store_confirmed(const struct config_store *s)
{
    return s->confirmed;
}

struct stored_config *config_store_candidate(const struct config_store *s)
{
    return s->candidate;
}

uint64_t config_store_received(const struct config_store *s)
{
    return s->state.received;
}

size_t config_store_refused(const struct config_store *s, const struct report_refused **out)
{
    size_t n = s->state.n_refused;
    size_t shown = n < REPORT_REFUSED_MAX ? n : REPORT_REFUSED_MAX;
    *out = s->state.refused + (n - shown);
    return shown;
}

bool config_store_is_refused(const struct config_store *s, uint64_t revision)
{
    for (size_t i = 0; i < s->state.n_refused; i++)
        if (s->state.refused[i].revision == revision)
            return true;
    return false;
}

/* Writes `next` as the state on disk and in memory. */
static int state_commit(struct config_store *s, const struct state *next, struct err *e)
{
    int rc = state_write(s, next, e);
    if (rc == 0)
        s->state = *next;
    return rc;
}

static int write_candidate(struct config_store *s, const struct signed_doc *doc, struct err *e)
{
    size_t len;
    auto_free char *text = signed_doc_encode(doc, &len);
    if (!text)
        return err_set(e, HW_ENOMEM, "out of memory");
    return fsutil_write(s->candidate_path, text, len, 0600, e);
}

static int take(struct config_store *s, struct signed_doc *doc, const struct x509_st *ca,
                int64_t now_s, const struct hw_id *boot, struct err *e)
{
    uint64_t revision = doc->revision;
    int rc = signed_config_verify(doc, &s->gateway, ca, now_s, e);
    if (rc < 0)
        return rc;
    if (revision < s->state.received)
        return err_set(e, HW_ESTALE,
                       "revision %" PRIu64 " is lower than %" PRIu64 ", already received", revision,
                       s->state.received);
    if (config_store_is_refused(s, revision))
        return err_set(e, HW_EFORBIDDEN, "revision %" PRIu64 " was refused before", revision);
    struct state *next = malloc(sizeof *next);
    if (!next)
        return err_set(e, HW_ENOMEM, "out of memory");
    *next = s->state;
    next->received = revision;
    next->candidate_boot = *boot;
    struct stored_config *fresh = NULL;
    struct err why = {0};
    rc = make_stored(s, doc, &fresh, &why);
    if (rc < 0) {
        char reason[HW_TEXT_MAX + 1];
        (void)snprintf(reason, sizeof reason, "%.60s%s%.130s", why.field, why.field[0] ? ": " : "",
                       why.text);
        state_refuse(next, revision, reason);
        (void)state_commit(s, next, NULL);
        free(next);
        return err_set_field(e, HW_EINVAL, why.field, "revision %" PRIu64 ": %s", revision, reason);
    }
    /* The candidate first: a crash in between leaves one that is newer than `received`, which is
     * harmless. */
    rc = write_candidate(s, &fresh->doc, e);
    if (rc == 0)
        rc = state_commit(s, next, e);
    free(next);
    if (rc < 0) {
        stored_config_unref(fresh);
        return rc;
    }
    fresh->boot = *boot;
    stored_config_unref(s->candidate);
    s->candidate = fresh;
    return 0;
}

int config_store_take(struct config_store *s, struct signed_doc *doc, const struct x509_st *ca,
                      int64_t now_s, const struct hw_id *boot, struct err *e)
{
    int rc = take(s, doc, ca, now_s, boot, e);
    signed_doc_done(doc);
    if (rc < 0)
        (void)err_wrap(e, "config");
    return rc;
}

int config_store_confirm(struct config_store *s, struct err *e)
{
    if (!s->candidate)
        return 0;
    int rc = fsutil_rename(s->candidate_path, s->confirmed_path, e);
    if (rc < 0) {
        (void)err_wrap(e, "confirm config");
        return rc;
    }
    stored_config_unref(s->confirmed);
    s->confirmed = s->candidate;
    s->confirmed->boot = (struct hw_id){{0}};
    s->candidate = NULL;
    return 0;
}

int config_store_refuse(struct config_store *s, const char *reason, struct err *e)
{
    if (!s->candidate)
        return 0;
    struct state *next = malloc(sizeof *next);
    if (!next)
        return err_set(e, HW_ENOMEM, "out of memory");
    *next = s->state;
    state_refuse(next, s->candidate->doc.revision, reason);
    /* The refusal first: whatever happens next, it never comes back. Where it cannot be written, it
     * holds in memory, and the candidate goes all the same, which takes no room on the disk. */
    int rc = state_write(s, next, e);
    s->state = *next;
    free(next);
    stored_config_unref(s->candidate);
    s->candidate = NULL;
    if (rc < 0) {
        (void)fsutil_remove(s->candidate_path, NULL);
        return rc;
    }
    return fsutil_remove(s->candidate_path, e);
}
