/* Figures of instance sizes as answers show them. */
#ifndef HAWSER_CONTROLLER_API_SIZE_JSON_H
#define HAWSER_CONTROLLER_API_SIZE_JSON_H

#include "common/json.h"
#include "controller/store/size.h"

/* Number, or null for 0. */
void size_json_put_known(struct json_writer *w, const char *key, uint64_t v);
/* The members of a figure, into an object that is open. */
void size_json_put_figure(struct json_writer *w, const struct store_figure *f);

#endif
