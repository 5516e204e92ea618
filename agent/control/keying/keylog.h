/* Part of hawser-agent-keylog alone, a program for tests that is never installed: SA keys in plain,
 * so that a foreign judge can open captured packets. */
#ifndef HAWSER_AGENT_CONTROL_KEYING_KEYLOG_H
#define HAWSER_AGENT_CONTROL_KEYING_KEYLOG_H

#include "common/dp_proto.h"

/* Appends one JSON line an SA {link,tunnel,direction,spi,suite,epoch,key,salt} to the file named by
 * HAWSER_KEYLOG_FILE; does nothing without it. */
void keylog_write(const struct dp_sa_install *m);

#endif
