/*
 * The agent's side of the agents' API (DESIGN section 4): a parked poll that never ends for good,
 * fetching what it announces, reports, renewal. Judging and keeping configs is config_store's work,
 * bringing them into force config_apply's, when one is settled confirm's; here they are put
 * together.
 */
#ifndef HAWSER_AGENT_CONTROL_CONTROLLER_LINK_H
#define HAWSER_AGENT_CONTROL_CONTROLLER_LINK_H

#include "common/err.h"
#include "common/evloop.h"
#include "common/id.h"
#include "common/model/command.h"
#include "common/model/report.h"
#include <stdbool.h>
#include <stdint.h>

struct agent_clock;
struct agent_settings;
struct config_cycle;
struct config_store;
struct controller_link;
struct denials_store;
struct identity;

struct controller_link_handler {
    /* Denials changed, or the controller says that this gateway itself is revoked (or no longer
     * is). */
    void (*denials_changed)(void *arg);
    /* The certificate was renewed. */
    void (*identity_changed)(void *arg);
    /* Fills everything but the revisions. */
    void (*fill_report)(void *arg, struct report *r);
    void (*report_done)(void *arg, struct report *r);
    /* The controller has the report that was filled last. */
    void (*report_accepted)(void *arg);
    /* What a poll brought (n may be 0); and the reports on commands, as commands_next and
     * commands_posted have them. */
    void (*commands)(void *arg, const struct command *list, size_t n);
    char *(*next_post)(void *arg, struct hw_id *id, size_t *len, uint64_t *wait_ns);
    void (*posted)(void *arg, const struct hw_id *id, int status);
};

/* Everything here outlives it. The identity is enrolled. */
struct controller_link_params {
    struct evloop *loop;
    const struct agent_settings *settings;
    struct agent_clock *clock;
    struct identity *identity;
    struct config_store *store;
    struct denials_store *denials;
    struct config_cycle *cycle;
    struct hw_id boot; /* the machine's */
    const struct controller_link_handler *handler;
    void *arg;
};

/* Brings the config on disk into force (the candidate after an agent restart, the confirmed one
 * after a boot) and starts polling at the loop's next turn. */
int controller_link_new(const struct controller_link_params *p, struct controller_link **out,
                        struct err *e);
void controller_link_free(struct controller_link *l);

enum controller_state { CONTROLLER_CONNECTED, CONTROLLER_UNREACHABLE, CONTROLLER_REFUSED };
struct controller_status {
    enum controller_state state;
    const char *url;
    int64_t last_contact; /* trusted seconds since 1970; 0: never */
    const char *last_error;
};
/* "connected" "unreachable" "refused" */
const char *controller_state_name(enum controller_state s);
void controller_link_status(const struct controller_link *l, struct controller_status *out);
/* This gateway itself is denied: by the denials, or by the controller's own word. */
bool controller_link_revoked(const struct controller_link *l);
/* Why the last document of the controller was not taken, such as a full disk; "" when it was. */
const char *controller_link_refusal(const struct controller_link *l);
/* Report soon: something that people wait for has changed. */
void controller_link_report_soon(struct controller_link *l);
/* There is something to post about a command. */
void controller_link_post_soon(struct controller_link *l);

#endif
