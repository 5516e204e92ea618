#include "agent/control/keying/sa_request.h"
#include "common/log.h"
#include <inttypes.h>
#include <stdlib.h>

struct sa_request {
    struct keylink *link; /* NULL: forgotten */
    struct sa_request *next;
    uint64_t epoch;
    sa_request_fn done;
};

static void unlink_request(struct sa_request *r)
{
    for (struct sa_request **p = &r->link->requests; *p; p = &(*p)->next) {
        if (*p == r) {
            *p = r->next;
            return;
        }
    }
}

static void on_ack(void *arg, int status, const char *text)
{
    struct sa_request r = *(struct sa_request *)arg;
    if (r.link)
        unlink_request(arg);
    free(arg);
    if (r.link)
        r.done(r.link, r.epoch, status, text);
}

static int send_request(struct keylink *l, enum dp_type type, const void *body, uint32_t len,
                        uint64_t epoch, sa_request_fn done, struct err *e)
{
    struct sa_request *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = dp_client_request(l->core->dp, type, body, len, -1, on_ack, r, e);
    if (rc != 0) {
        free(r);
        return rc;
    }
    *r = (struct sa_request){.link = l, .next = l->requests, .epoch = epoch, .done = done};
    l->requests = r;
    return 0;
}

int sa_request_install(struct keylink *l, const struct dp_sa_install *m, sa_request_fn done,
                       struct err *e)
{
    return send_request(l, DP_SA_INSTALL, m, dp_sa_install_len(m->count), m->epoch, done, e);
}

int sa_request_switch(struct keylink *l, uint64_t epoch, sa_request_fn done, struct err *e)
{
    struct dp_sa_switch m = {.link = l->cfg.id, .epoch = epoch};
    return send_request(l, DP_SA_SWITCH, &m, sizeof m, epoch, done, e);
}

/* A link that the dataplane has forgotten has no SAs either. */
static void on_retired(struct keylink *l, uint64_t epoch, int status, const char *text)
{
    char link[ID_TEXT_MAX];
    if (status != 0 && status != HW_ENOTFOUND && status != HW_ECLOSED)
        log_warn_limited("cannot retire SAs link=%s epoch=%" PRIu64 ": %s",
                         id_text(&l->cfg.id, link), epoch, text);
}

void sa_request_retire(struct keylink *l, uint64_t epoch, bool in, bool out)
{
    struct dp_sa_retire m = {.link = l->cfg.id, .epoch = epoch, .in = in, .out = out};
    struct err e;
    if (!l->core->dataplane)
        return;
    int rc = send_request(l, DP_SA_RETIRE, &m, sizeof m, epoch, on_retired, &e);
    if (rc != 0)
        on_retired(l, epoch, rc, e.text);
}

void sa_request_forget(struct keylink *l)
{
    for (struct sa_request *r = l->requests; r; r = r->next)
        r->link = NULL;
    l->requests = NULL;
}
