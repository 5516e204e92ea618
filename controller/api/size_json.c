#include "controller/api/size_json.h"
#include "controller/api/body.h"

void size_json_put_known(struct json_writer *w, const char *key, uint64_t v)
{
    if (v)
        json_put_uint(w, key, v);
    else
        json_put_null(w, key);
}

static void put_text(struct json_writer *w, const char *key, const char *s)
{
    json_put_str(w, key, s[0] ? s : NULL);
}

static void put_double(struct json_writer *w, const char *key, bool known, double v)
{
    if (known)
        json_put_double(w, key, v);
    else
        json_put_null(w, key);
}

void size_json_put_figure(struct json_writer *w, const struct store_figure *f)
{
    json_put_id(w, "id", &f->id);
    json_put_str(w, "origin", f->published ? "published" : "measured");
    json_put_str(w, "source", f->source);
    put_text(w, "role", f->role);
    size_json_put_known(w, "mtu", f->mtu);
    size_json_put_known(w, "tcp_streams", f->tcp_streams);
    put_text(w, "encryption", f->encryption);
    if (f->gro < 0)
        json_put_null(w, "gro");
    else
        json_put_bool(w, "gro", f->gro);
    json_put_str(w, "metric", f->metric);
    json_put_str(w, "unit", f->unit);
    json_put_double(w, "value", f->value);
    put_double(w, "throughput_bps", f->throughput_bps > 0, f->throughput_bps);
    put_text(w, "note", f->note);
    put_text(w, "method", f->method);
    put_double(w, "spread_bps", f->spread_bps >= 0, f->spread_bps);
    size_json_put_known(w, "runs", f->runs);
    body_put_time(w, "measured_at", f->measured_at);
}
