/*
 * The root of ownership: workers, counters, links, the routing snapshot. Every function belongs to
 * the control thread and returns when all workers concerned have done their part; a worker that
 * does not answer ends the process, since nothing it owns can be taken from it (a supervisor starts
 * it anew).
 */
#ifndef HAWSER_DATAPLANE_ENGINE_H
#define HAWSER_DATAPLANE_ENGINE_H

#include "common/dp_proto.h"
#include "common/err.h"
#include <stdbool.h>

struct engine;

struct engine_options {
    unsigned workers;     /* 0: one per core */
    unsigned first_core;  /* worker 0's, counted among the usable ones */
    const char *provider; /* "auto", "ipsec-mb", "libcrypto" */
    /* plain paths, forced: */
    bool no_gso, no_gro, no_tun_offload;
};

/* Makes everything that will ever be allocated for packets. Before the sandbox. */
int engine_new(const struct engine_options *o, struct engine **out, struct err *e);
/* Starts the workers: after what threads inherit is in force, before seccomp. */
int engine_start(struct engine *en, struct err *e);
/* Ends the workers and frees all, keys wiped. */
void engine_free(struct engine *en);

/* What this process is; `extra` are feature bits that the caller knows of. */
void engine_hello(const struct engine *en, uint32_t extra, struct dp_hello *out);
/* The counters' read-only descriptor. */
int engine_stats_fd(const struct engine *en);
/* Readable when engine_events has something to hand out. */
int engine_event_fd(const struct engine *en);

/* The requests of dp_proto.h, validated. Descriptors become the engine's, also on failure. */
int engine_attach_tun(struct engine *en, const struct dp_attach_tun *m, int fd, struct err *e);
int engine_attach_udp(struct engine *en, const struct dp_attach_udp *m, int fd, struct err *e);
int engine_node_set(struct engine *en, const struct dp_node_set *m, struct err *e);
int engine_link_set(struct engine *en, const struct dp_link_set *m, struct err *e);
int engine_link_remove(struct engine *en, const struct hw_id *link, struct err *e);
int engine_sa_install(struct engine *en, const struct dp_sa_install *m, struct err *e);
int engine_sa_switch(struct engine *en, const struct dp_sa_switch *m, struct err *e);
int engine_sa_retire(struct engine *en, const struct dp_sa_retire *m, struct err *e);
int engine_fib_commit(struct engine *en, const struct dp_fib_commit *m, int fd, struct err *e);

/* A message for the agent: body of a type of dp_proto.h. */
typedef void engine_emit_fn(void *ctx, enum dp_type type, const void *body, size_t len);

/* Emits the whole state, the DP_DUMP_END left to the caller. */
int engine_dump(struct engine *en, engine_emit_fn *emit, void *ctx, struct err *e);
/* Emits what workers have to tell, and frees ended SAs. */
void engine_events(struct engine *en, engine_emit_fn *emit, void *ctx);
/* A new agent is there: what it must not miss is raised again. */
void engine_retell(struct engine *en);

#endif
