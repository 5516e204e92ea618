#include "controller/api/permission_json.h"
#include "common/esp_suite.h"
#include "controller/api/body.h"
#include "controller/store/encryption_permission.h"
#include "controller/store/link.h"
#include "controller/telemetry/status.h"
#include <stdio.h>
#include <stdlib.h>

struct effect {
    unsigned links, running;
    char why[2 * HW_TEXT_MAX]; /* of the first link that doesn't run by it */
};

/* As the link's ends last reported. */
static void take_link(struct effect *f, const struct status *s)
{
    const struct esp_suite *suite = esp_suite_by_id(s->suite);
    f->links++;
    if (esp_weak_name(s->suite))
        f->running++;
    else if (!f->why[0] && suite)
        (void)snprintf(f->why, sizeof f->why, "%s: keyed by %s; %s", s->observer, suite->name,
                       s->reason);
    else if (!f->why[0])
        (void)snprintf(f->why, sizeof f->why, "%s%s%s", s->observer, s->observer[0] ? ": " : "",
                       s->reason);
}

static int look(struct db *db, const struct hw_id *connection_id, struct effect *out, struct err *e)
{
    struct effect f = {.links = 0};
    struct store_link *list = NULL;
    size_t n = 0;
    int rc = store_link_list(db, &(struct store_page){.limit = UINT32_MAX}, connection_id, NULL,
                             &list, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct status s;
        rc = status_of_link(db, &list[i], store_now(db), &s, e);
        if (!rc)
            take_link(&f, &s);
    }
    free(list);
    if (!f.links)
        (void)snprintf(f.why, sizeof f.why, "the connection has no link");
    else if (f.running)
        (void)snprintf(f.why, sizeof f.why, "%u of %u links run by it", f.running, f.links);
    *out = f;
    return rc;
}

int permission_json_put(struct json_writer *w, struct db *db, const struct store_connection *c,
                        struct err *e)
{
    struct store_permission p;
    struct effect f;
    int rc = store_permission_get(db, &c->id, &p, e);
    if (rc == HW_ENOTFOUND) {
        json_put_null(w, "permission");
        return 0;
    }
    rc = rc ? rc : look(db, &c->id, &f, e);
    if (rc)
        return rc;
    json_open_object(w, "permission");
    json_put_str(w, "suite", esp_weak_name(p.suite));
    json_put_str(w, "reason", p.reason);
    body_put_time(w, "ends_at", p.ends_at);
    body_put_time(w, "created_at", p.created_at);
    json_put_str(w, "created_by", p.created_name);
    json_put_bool(w, "in_effect", f.running != 0);
    json_put_str(w, "in_effect_reason", f.why);
    json_close(w);
    return 0;
}
