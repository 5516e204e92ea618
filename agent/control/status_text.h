/* `hawser-agent status` for people and `--dump` for scripts, both made from the JSON that the agent
 * answers. */
#ifndef HAWSER_AGENT_CONTROL_STATUS_TEXT_H
#define HAWSER_AGENT_CONTROL_STATUS_TEXT_H

#include "common/err.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One block for the gateway and one a link, aligned. `now_s`: for ages. */
int status_text_print(FILE *f, const char *json, size_t len, int64_t now_s, struct err *e);
/* A line a tunnel, separated by tabs: link, peer, tunnel, port, state, reason, rtt_us, tx_packets,
 * tx_bytes, rx_packets, rx_bytes, probes_sent, probes_answered, probes_lost. */
int status_text_dump(FILE *f, const char *json, size_t len, struct err *e);

#endif
