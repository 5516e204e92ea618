/* What the kinds of diagnostics have in common: how one is started, ended and asked for its result.
 */
#ifndef HAWSER_AGENT_CONTROL_DIAG_JOB_H
#define HAWSER_AGENT_CONTROL_DIAG_JOB_H

#include "agent/control/diag/prober.h"
#include "common/err.h"
#include "common/json.h"
#include "common/model/command.h"

/* What a job tells its owner. Nothing of the job is touched after `over`: the owner may free it. */
struct job_events {
    void (*progress)(void *arg, unsigned done, unsigned total, const char *text);
    void (*over)(void *arg, const struct err *why); /* NULL: all is done */
};

struct job_env {
    struct evloop *loop;
    struct diag_budget *budget;
    const struct command *command; /* outlives the job */
    const struct job_events *events;
    void *arg;
};

/* One row a kind. A job holds nothing once freed; `put` writes what was found so far into an open
 * object. */
struct job_kind {
    int (*start)(const struct job_env *env, void **job, struct err *e);
    void (*put)(const void *job, struct json_writer *w);
    void (*free)(void *job);
};

extern const struct job_kind job_trace_path, job_ping, job_tcp_connect;

#endif
