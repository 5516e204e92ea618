/*
 * Asks a cloud's metadata service: its provider's requests one after the other, over one
 * connection, all of them within three seconds. No proxy, no redirect, link-local addresses alone.
 */
#ifndef HAWSER_AGENT_CONTROL_CLOUD_READER_H
#define HAWSER_AGENT_CONTROL_CLOUD_READER_H

#include "agent/control/cloud/provider.h"
#include "common/evloop.h"

struct cloud_reader;

/* `reading` holds what was read when rc is 0, and is wiped behind the call. The reader may be freed
 * from here. */
typedef void (*cloud_reader_fn)(void *arg, int rc, struct cloud_reading *reading,
                                const struct err *why);

int cloud_reader_start(struct evloop *loop, const struct cloud_provider *provider,
                       bool want_user_data, cloud_reader_fn done, void *arg,
                       struct cloud_reader **out, struct err *e);
/* Ends it without a call. */
void cloud_reader_free(struct cloud_reader *r);

#endif
