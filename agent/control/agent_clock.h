/*
 * The agent's trusted time (DESIGN section 3.4): common/clock.h's pure rule plus the file that
 * keeps the newest authenticated time over restarts. Every certificate check of the agent asks
 * here, never time().
 */
#ifndef HAWSER_AGENT_CONTROL_AGENT_CLOCK_H
#define HAWSER_AGENT_CONTROL_AGENT_CLOCK_H

#include "common/err.h"
#include <stdbool.h>
#include <stdint.h>

struct agent_clock;

/* Reads STATE_DIR/clock; a missing file means that nothing is stored, a damaged one is told and
 * treated alike. */
int agent_clock_new(const char *state_dir, struct agent_clock **out, struct err *e);
void agent_clock_free(struct agent_clock *c);

/* Seconds since 1970. */
int64_t agent_clock_now(const struct agent_clock *c);
/* Wall clock − trusted time, in seconds. */
int64_t agent_clock_skew(const struct agent_clock *c);
/* False when neither the controller nor a plausible wall clock vouches for the time (only the
 * stored one does). */
bool agent_clock_trusted(const struct agent_clock *c);
/* The controller has vouched for it since this program began. */
bool agent_clock_from_controller(const struct agent_clock *c);
/* "controller", "wall" or "stored". */
const char *agent_clock_source(const struct agent_clock *c);

/* Takes the time of an authenticated controller reply; written to disk at most once in ten minutes.
 */
void agent_clock_set(struct agent_clock *c, int64_t controller_s);

#endif
