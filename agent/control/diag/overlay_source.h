/* From which own address a packet goes through the tunnels, so that its answer finds back. */
#ifndef HAWSER_AGENT_CONTROL_DIAG_OVERLAY_SOURCE_H
#define HAWSER_AGENT_CONTROL_DIAG_OVERLAY_SOURCE_H

#include "common/ipaddr.h"
#include "common/model/gateway_config.h"

struct agent_settings;

/* To a peer's overlay address from the own one. Further on only sites' prefixes are known: there
 * from the site interface's address within them, where there is one. `settings` may be NULL. */
struct ipaddr overlay_source(const struct agent_settings *settings,
                             const struct gateway_config *config, const struct ipaddr *target);

#endif
