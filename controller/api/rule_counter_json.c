#include "controller/api/rule_counter_json.h"
#include "controller/api/status_json.h"

void rule_counter_put(struct json_writer *w, const struct store_rule_counter *c, int64_t now_s)
{
    if (c->observed_at) {
        json_put_uint(w, "packets", c->packets);
        json_put_uint(w, "bytes", c->bytes);
    } else {
        json_put_null(w, "packets");
        json_put_null(w, "bytes");
    }
    status_json_seen(w, c->observed_at, now_s);
}
