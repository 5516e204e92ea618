/* Puts together what this gateway says of itself: the report for the controller and the text of
 * `status --json`. */
#ifndef HAWSER_AGENT_CONTROL_STATUS_H
#define HAWSER_AGENT_CONTROL_STATUS_H

#include "agent/control/app.h"
#include "common/model/report.h"
#include <stddef.h>

struct status;

/* Remembers since when each link has its state. */
int status_new(const struct app *app, struct status **out, struct err *e);
void status_free(struct status *s);

/* Fills all but the revisions; status_done frees what the report then owns. */
void status_fill(struct status *s, struct report *r);
void status_done(struct report *r);

/* docs/protocols.md, "hawser-agent status --json". Free it; NULL when out of memory. */
char *status_json(struct status *s, size_t *len);

/* Which capabilities the agent should have and lacks: "" or "CAP_BPF", separated by blanks. */
const char *status_missing_capabilities(void);

#endif
