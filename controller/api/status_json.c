#include "controller/api/status_json.h"
#include "common/esp_suite.h"
#include "controller/api/body.h"

void status_json_seen(struct json_writer *w, int64_t observed_at, int64_t now_s)
{
    body_put_time(w, "observed_at", observed_at);
    if (observed_at)
        json_put_int(w, "age_seconds", now_s > observed_at ? now_s - observed_at : 0);
    else
        json_put_null(w, "age_seconds");
}

static void put_members(struct json_writer *w, const struct status *s, int64_t now_s)
{
    json_put_str(w, "state", status_state_name(s->state));
    json_put_str(w, "reason", s->reason);
    json_put_str(w, "observer", s->observer[0] ? s->observer : NULL);
    status_json_seen(w, s->observed_at, now_s);
}

void status_json_put(struct json_writer *w, const struct status *s, int64_t now_s)
{
    json_open_object(w, "status");
    put_members(w, s, now_s);
    json_close(w);
}

void status_json_put_link(struct json_writer *w, const struct status *s, int64_t now_s)
{
    const struct esp_suite *suite = esp_suite_by_id(s->suite);
    json_open_object(w, "status");
    put_members(w, s, now_s);
    json_put_uint(w, "tunnels_up", s->tunnels_up);
    json_put_uint(w, "tunnels_total", s->tunnels_total);
    json_put_str(w, "suite", suite ? suite->name : NULL);
    if (suite)
        json_put_bool(w, "encrypted", esp_suite_encrypts(suite) != 0);
    else
        json_put_null(w, "encrypted");
    json_close(w);
}
