#include "agent/control/commands.h"
#include "agent/control/diag/diag.h"
#include "agent/control/settings.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "common/json.h"
#include "common/log.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MAX       256
#define FILE_MAX        (256u << 10)
#define REPORT_PAUSE_NS NS_PER_S        /* between two reports of progress */
#define BEAT_NS         (10 * NS_PER_S) /* without progress: the controller gives up after 30 s */
#define RETRY_MAX_NS    (60 * NS_PER_S)
#define REPORT_FOR_S    600          /* beyond expires_at */
#define AFTER_RESTART   (1ull << 32) /* higher than any sequence of before */

/* One command that came: what it last said, and how far the controller knows. */
struct record {
    struct hw_id id;
    int64_t expires_at;
    bool over;
    bool silent; /* the controller has heard the end, or wants to hear no more */
    struct command_report report;
    uint64_t posted;  /* sequence that the controller has */
    uint64_t posting; /* sequence under way */
    uint64_t next_ns; /* not before */
    uint64_t beat_ns; /* while it runs: by then at the latest */
    unsigned failures;
};

struct commands {
    struct commands_params p;
    struct diag *diag;
    char path[PATH_MAX];
    struct record known[KNOWN_MAX]; /* oldest first */
    size_t n;
};

static struct record *find(struct commands *c, const struct hw_id *id)
{
    for (size_t i = 0; i < c->n; i++)
        if (id_equal(&c->known[i].id, id))
            return &c->known[i];
    return NULL;
}

/* ---- on disk ---- */

static int save(const struct commands *c, struct err *e)
{
    struct json_writer w;
    size_t len = 0;
    json_writer_init(&w);
    json_open_array(&w, "commands");
    for (size_t i = 0; i < c->n; i++) {
        json_open_object(&w, NULL);
        json_put_id(&w, "id", &c->known[i].id);
        json_put_int(&w, "expires_at", c->known[i].expires_at);
        json_put_bool(&w, "over", c->known[i].over && c->known[i].silent);
        json_close(&w);
    }
    json_close(&w);
    auto_free char *text = json_finish(&w, &len);
    return text ? fsutil_write(c->path, text, len, 0600, e)
                : err_set(e, HW_ENOMEM, "out of memory");
}

static void end_report(struct record *r, enum command_state state, char *result, const char *code,
                       const char *text)
{
    free(r->report.result);
    r->report.result = result;
    r->report.state = state;
    r->report.sequence++;
    (void)snprintf(r->report.error_code, sizeof r->report.error_code, "%s", code ? code : "");
    (void)snprintf(r->report.error_text, sizeof r->report.error_text, "%.*s", HW_TEXT_MAX,
                   code ? text : "");
    if (state == COMMAND_SUCCEEDED) {
        (void)snprintf(r->report.text, sizeof r->report.text, "finished");
        r->report.done = r->report.total ? r->report.total : r->report.done;
    }
    r->over = true;
    r->next_ns = 0;
    r->failures = 0;
}

static int load_one(struct commands *c, const struct json_at *at, struct err *e)
{
    struct record *r = &c->known[c->n];
    bool over = false;
    *r = (struct record){0};
    int rc = json_get_id(at, "id", &r->id, e);
    rc = rc ? rc : json_get_int(at, "expires_at", INT64_MIN, INT64_MAX, &r->expires_at, e);
    rc = rc ? rc : json_get_bool(at, "over", &over, e);
    if (rc)
        return rc;
    r->report.sequence = AFTER_RESTART;
    end_report(r, COMMAND_FAILED, NULL, "internal", "the agent was restarted meanwhile");
    r->silent = over;
    c->n++;
    return 0;
}

static int load(struct commands *c, struct err *e)
{
    auto_free char *text = NULL;
    size_t len, n = 0;
    struct json_object *doc;
    struct json_at list;
    int rc = fsutil_read(c->path, FILE_MAX, &text, &len, e);
    if (rc == HW_ENOTFOUND)
        return 0;
    rc = rc ? rc : json_parse(text, len, FILE_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = json_get_array(&top, "commands", KNOWN_MAX, &list, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at at = json_element(&list, i);
        rc = load_one(c, &at, e);
    }
    json_free(doc);
    return rc;
}

/* ---- events of what runs ---- */

static void on_progress(void *arg, const struct hw_id *id, unsigned done, unsigned total,
                        const char *text)
{
    struct commands *c = arg;
    struct record *r = find(c, id);
    if (!r || r->over)
        return;
    r->report.done = done;
    r->report.total = total;
    (void)snprintf(r->report.text, sizeof r->report.text, "%s", text);
    r->report.sequence++;
    if (r->next_ns == r->beat_ns) /* it had nothing to say until now */
        r->next_ns = 0;
    c->p.post(c->p.arg);
}

static void on_over(void *arg, const struct hw_id *id, enum command_state state, char *result,
                    const char *code, const char *text)
{
    struct commands *c = arg;
    struct record *r = find(c, id);
    char name[ID_TEXT_MAX];
    log_info("command over id=%s state=%s %s", id_text(id, name), command_state_name(state), text);
    if (!r || r->over) {
        free(result);
        return;
    }
    end_report(r, state, result, code, text);
    c->p.post(c->p.arg);
}

static const struct diag_events diag_events = {on_progress, on_over};

/* ---- taking ---- */

/* Room for one more: the oldest that is over goes. NULL when all of them still run or are untold.
 */
static struct record *add(struct commands *c, const struct hw_id *id, int64_t expires_at)
{
    size_t oldest = 0;
    if (c->n == KNOWN_MAX) {
        while (oldest < c->n && !(c->known[oldest].over && c->known[oldest].silent))
            oldest++;
        if (oldest == c->n)
            return NULL;
        command_report_done(&c->known[oldest].report);
        memmove(&c->known[oldest], &c->known[oldest + 1], (c->n - oldest - 1) * sizeof *c->known);
        c->n--;
    }
    struct record *r = &c->known[c->n++];
    *r = (struct record){.id = *id, .expires_at = expires_at};
    r->report.sequence = 1;
    r->report.state = COMMAND_RUNNING;
    return r;
}

/* Also of one that never came: it will not run when it comes. */
static void cancel(struct commands *c, const struct command *command)
{
    struct record *target = find(c, &command->cancels);
    if (target ? !target->over : false) {
        (void)diag_cancel(c->diag, &command->cancels);
    } else if (!target && (target = add(c, &command->cancels, command->expires_at))) {
        end_report(target, COMMAND_CANCELLED, NULL, "cancelled", "cancelled");
    }
}

static void begin(struct commands *c, const struct command *command)
{
    struct err e = {0};
    char name[ID_TEXT_MAX];
    struct record *r = add(c, &command->id, command->expires_at);
    if (!r) {
        log_warn_limited("command not taken, too many are unreported id=%s",
                         id_text(&command->id, name));
        return;
    }
    const char *kind = command_kind_name(command->kind);
    log_info("command taken id=%s kind=%s", id_text(&command->id, name), kind ? kind : "unknown");
    if (command->expires_at <= c->p.now(c->p.arg)) {
        end_report(r, COMMAND_EXPIRED, NULL, "not-delivered", "it came after its time");
    } else if (save(c, &e) < 0) {
        /* Without the mark on disk a restart could run it twice. */
        end_report(r, COMMAND_FAILED, NULL, "internal", e.text);
    } else if (command->kind == COMMAND_CANCEL && !command->refusal[0]) {
        cancel(c, command);
        if ((r = find(c, &command->id)))
            end_report(r, COMMAND_SUCCEEDED, NULL, NULL, "");
    } else {
        diag_start(c->diag, command, c->p.config(c->p.arg));
    }
    c->p.post(c->p.arg);
}

/* A known one that comes again: the controller has not heard what was said of it. */
static void say_again(struct record *r)
{
    if (r->posting)
        return;
    r->posted = 0;
    r->silent = false;
}

void commands_take(struct commands *c, const struct command *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct record *r = find(c, &list[i].id);
        if (r)
            say_again(r);
        else
            begin(c, &list[i]);
    }
    if (n)
        c->p.post(c->p.arg);
}

/* ---- reporting ---- */

static bool is_due(struct commands *c, struct record *r, uint64_t now)
{
    if (r->silent || r->posting)
        return false;
    if (r->posted >= r->report.sequence) {
        if (r->over)
            return false;
        if (r->beat_ns <= now)
            r->report.sequence++;
        else
            r->next_ns = r->beat_ns;
    }
    if (r->over && c->p.now(c->p.arg) > r->expires_at + REPORT_FOR_S) {
        r->silent = true;
        return false;
    }
    return true;
}

char *commands_next(struct commands *c, struct hw_id *id, size_t *len, uint64_t *wait_ns)
{
    uint64_t now = clock_mono_ns();
    *wait_ns = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct record *r = &c->known[i];
        if (!is_due(c, r, now))
            continue;
        if (r->next_ns > now) {
            if (!*wait_ns || r->next_ns - now < *wait_ns)
                *wait_ns = r->next_ns - now;
            continue;
        }
        struct command_report copy = r->report;
        copy.result = r->report.result ? strdup(r->report.result) : NULL;
        if (r->report.result && !copy.result)
            return NULL;
        char *body = command_report_encode(&copy, len);
        if (body) {
            r->posting = r->report.sequence;
            *id = r->id;
        }
        return body;
    }
    return NULL;
}

/* The controller knows the end, or has no use for it. */
static void quiet(struct commands *c, struct record *r)
{
    struct err e = {0};
    r->silent = true;
    command_report_done(&r->report);
    if (r->over && save(c, &e) < 0)
        log_warn_limited("commands: %s", e.text);
}

void commands_posted(struct commands *c, const struct hw_id *id, int status)
{
    struct record *r = find(c, id);
    if (!r)
        return;
    uint64_t sequence = r->posting, now = clock_mono_ns();
    r->posting = 0;
    if (status == 204) {
        r->posted = sequence;
        r->failures = 0;
        r->next_ns = r->over ? 0 : now + REPORT_PAUSE_NS;
        r->beat_ns = now + BEAT_NS;
        if (r->over && r->posted >= r->report.sequence)
            quiet(c, r);
    } else if (status >= 400 && status < 500 && status != 401 && status != 403 && status != 429) {
        log_warn_limited("command report refused status=%d", status);
        r->silent = true;
        if (!r->over)
            (void)diag_cancel(c->diag, id);
        quiet(c, r);
    } else {
        uint64_t pause = NS_PER_S << (r->failures < 6 ? r->failures : 6);
        r->next_ns = now + (pause < RETRY_MAX_NS ? pause : RETRY_MAX_NS);
        r->failures++;
    }
}

/* ---- life ---- */

int commands_new(const struct commands_params *p, struct commands **out, struct err *e)
{
    struct commands *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, HW_ENOMEM, "out of memory");
    c->p = *p;
    struct err why = {0};
    int rc = agent_path(p->state_dir, "commands.json", c->path, sizeof c->path, e);
    if (rc == 0)
        rc = diag_new(p->loop, p->settings, &diag_events, c, &c->diag, e);
    if (rc < 0) {
        commands_free(c);
        return rc;
    }
    /* Damage costs the memory of what ran; commands live a minute. */
    if (load(c, &why) < 0)
        log_warn("commands of before are not known: %s", why.text);
    *out = c;
    return 0;
}

void commands_free(struct commands *c)
{
    if (!c)
        return;
    diag_free(c->diag);
    for (size_t i = 0; i < c->n; i++)
        command_report_done(&c->known[i].report);
    free(c);
}
