/* A status as every object shows it: with who saw it, and how old that is. */
#ifndef HAWSER_CONTROLLER_API_STATUS_JSON_H
#define HAWSER_CONTROLLER_API_STATUS_JSON_H

#include "common/json.h"
#include "controller/telemetry/status.h"

/* The members observed_at and age_seconds; null for 0: nobody saw it. */
void status_json_seen(struct json_writer *w, int64_t observed_at, int64_t now_s);
/* The member "status" of a gateway or tunnel, and of a link. */
void status_json_put(struct json_writer *w, const struct status *s, int64_t now_s);
void status_json_put_link(struct json_writer *w, const struct status *s, int64_t now_s);

#endif
