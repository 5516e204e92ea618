/*
 * The cloud that this machine runs in (DESIGN section 3.2): which one, by the settings or the
 * firmware's word; what its metadata service says, read at the start and now and then again; and an
 * enrolment token in the user data. What the service said last is kept in STATE_DIR/cloud.json.
 */
#ifndef HAWSER_AGENT_CONTROL_CLOUD_CLOUD_H
#define HAWSER_AGENT_CONTROL_CLOUD_CLOUD_H

#include "agent/control/cloud/facts.h"
#include "agent/control/settings.h"
#include "common/evloop.h"
#include <stdbool.h>
#include <stdint.h>

struct cloud;
struct json_writer;

/* A reading is over. `changed`: the facts are others than before. */
typedef void (*cloud_fn)(void *arg, bool changed);

int cloud_new(struct evloop *loop, const struct agent_settings *s, cloud_fn read, void *arg,
              struct cloud **out, struct err *e);
void cloud_free(struct cloud *c);

/* True once what there is to know is known: from a reading, from disk, or because there is nobody
 * to ask. */
bool cloud_settled(const struct cloud *c);
/* Reads anew, at most three seconds; `read` comes behind. With `want_token` the user data too. Does
 * nothing while a reading is under way. False, and `read` won't come: there is nobody to ask, or a
 * token was looked for just now. */
bool cloud_read(struct cloud *c, bool want_token);

/* Never NULL; empty when nothing is known. */
const struct cloud_facts *cloud_facts(const struct cloud *c);
/* The token of the user data; NULL when there is none. Kept until it is forgotten: one reading
 * serves all tries. */
const char *cloud_token(const struct cloud *c);
void cloud_forget_token(struct cloud *c);
/* Adds to "there is no token file" why the cloud gave none either. */
void cloud_explain(const struct cloud *c, struct err *e);

/* Provider, region and size: the settings' where set, else the service's. */
void cloud_where(const struct agent_settings *s, const struct cloud_facts *f,
                 struct node_cloud *out);
/* The member "cloud" of `hawser-agent status --json`. */
void cloud_status_put(struct json_writer *w, const struct cloud *c, const struct node *node);

#endif
