/*
 * Runs diagnostics within caps that hold whatever the controller says (docs/protocols.md,
 * "Commands"): two at once, 100 packets a second over all, 2,000 packets and 120 s each. All in the
 * agent's event loop; no foreign program, no shell.
 */
#ifndef HAWSER_AGENT_CONTROL_DIAG_DIAG_H
#define HAWSER_AGENT_CONTROL_DIAG_DIAG_H

#include "common/err.h"
#include "common/evloop.h"
#include "common/id.h"
#include "common/model/command.h"
#include "common/model/gateway_config.h"
#include <stdbool.h>

#define DIAG_AT_ONCE 2

struct agent_settings;
struct diag;

/* Calls come from the loop, or from inside diag_start and diag_cancel. */
struct diag_events {
    void (*progress)(void *arg, const struct hw_id *id, unsigned done, unsigned total,
                     const char *text);
    /* The end. `result` (NULL: none) is taken over; `code` NULL when it succeeded. */
    void (*over)(void *arg, const struct hw_id *id, enum command_state state, char *result,
                 const char *code, const char *text);
};

/* `settings` (NULL: none) name the site's interface. */
int diag_new(struct evloop *loop, const struct agent_settings *settings,
             const struct diag_events *events, void *arg, struct diag **out, struct err *e);
void diag_free(struct diag *d); /* ends all without a call */

/* `config` (NULL: none yet) says where the overlay leads. Always ends in one `over`. */
void diag_start(struct diag *d, const struct command *c, const struct gateway_config *config);
/* False: not under way. */
bool diag_cancel(struct diag *d, const struct hw_id *id);

/* NULL when `target` may be probed by a gateway of this config, else why not, with the code of the
 * refusal. */
const char *diag_refusal(const struct command *c, const struct gateway_config *config,
                         const char **code);

#endif
