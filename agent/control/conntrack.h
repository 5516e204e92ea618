/* How full the kernel's table of connections is in this network namespace. */
#ifndef HAWSER_AGENT_CONTROL_CONNTRACK_H
#define HAWSER_AGENT_CONTROL_CONNTRACK_H

#include "common/model/report.h"

/* Not known where the kernel tracks no connections. */
struct report_conntrack conntrack_read(void);

#endif
