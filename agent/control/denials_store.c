#include "agent/control/denials_store.h"
#include "agent/control/settings.h"
#include "common/cleanup.h"
#include "common/fsutil.h"
#include "common/log.h"
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#define FILE_MAX (16u << 20)

struct denials_store {
    char path[PATH_MAX];
    uint64_t number;
    struct denials denials;
};

static int load(struct denials_store *d, const struct x509_st *ca, struct err *e)
{
    auto_free char *text = NULL;
    size_t len;
    int rc = fsutil_read(d->path, FILE_MAX, &text, &len, e);
    if (rc == HW_ENOTFOUND)
        return 0;
    struct signed_doc doc = {0};
    if (rc < 0 || (rc = signed_doc_decode(text, len, &doc, e)) < 0)
        return rc;
    rc = signed_denials_verify(&doc, ca, doc.accepted_at, e);
    if (rc == 0)
        rc = denials_decode(doc.body, doc.body_len, &d->denials, e);
    if (rc == 0)
        d->number = doc.revision;
    signed_doc_done(&doc);
    return rc;
}

/* Without the file this gateway would speak to gateways that are revoked, so it is not passed over
 * in silence. */
static void tell_remedy(const struct denials_store *d, int rc, struct err *e)
{
    if (rc != HW_ENOMEM)
        (void)err_wrap(e,
                       "the denials on disk can't be used: restore %s from a backup, or make sure "
                       "that the controller is reachable, remove the file and start hawser-agent "
                       "again; until the controller has sent them anew, revoked gateways are not "
                       "known here. The reason",
                       d->path);
}

int denials_store_open(const char *state_dir, const struct x509_st *ca, struct denials_store **out,
                       struct err *e)
{
    struct denials_store *d = calloc(1, sizeof *d);
    if (!d)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = agent_path(state_dir, "denials.doc", d->path, sizeof d->path, e);
    if (rc == 0)
        rc = load(d, ca, e);
    if (rc < 0) {
        tell_remedy(d, rc, e);
        denials_store_free(d);
        return rc;
    }
    *out = d;
    return 0;
}

void denials_store_free(struct denials_store *d)
{
    if (!d)
        return;
    denials_done(&d->denials);
    free(d);
}

uint64_t denials_store_number(const struct denials_store *d)
{
    return d->number;
}

const struct denials *denials_store_get(const struct denials_store *d)
{
    return &d->denials;
}

/* A full disk keeps nobody in who is denied. After a restart the number on disk is the older one,
 * so that the controller sends the document again. */
static void save(const struct denials_store *d, const struct signed_doc *doc)
{
    struct err e = {0};
    size_t len;
    auto_free char *text = signed_doc_encode(doc, &len);
    int rc =
        text ? fsutil_write(d->path, text, len, 0600, &e) : err_set(&e, HW_ENOMEM, "out of memory");
    if (rc < 0)
        log_error("denials are in force but not stored number=%" PRIu64 ": %s", doc->revision,
                  e.text);
}

static int take(struct denials_store *d, struct signed_doc *doc, const struct x509_st *ca,
                int64_t now_s, struct err *e)
{
    struct denials fresh = {0};
    int rc = signed_denials_verify(doc, ca, now_s, e);
    if (rc < 0)
        return rc;
    if (doc->revision < d->number)
        return err_set(e, HW_ESTALE, "number %" PRIu64 " is lower than %" PRIu64 ", in force",
                       doc->revision, d->number);
    rc = denials_decode(doc->body, doc->body_len, &fresh, e);
    if (rc < 0)
        return rc;
    denials_done(&d->denials);
    d->denials = fresh;
    d->number = doc->revision;
    save(d, doc);
    return 0;
}

int denials_store_take(struct denials_store *d, struct signed_doc *doc, const struct x509_st *ca,
                       int64_t now_s, struct err *e)
{
    int rc = take(d, doc, ca, now_s, e);
    signed_doc_done(doc);
    if (rc < 0)
        (void)err_wrap(e, "denials");
    return rc;
}
