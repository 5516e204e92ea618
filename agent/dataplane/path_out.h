/* From TUN into tunnels: read, check, route, forward. */
#ifndef HAWSER_DATAPLANE_PATH_OUT_H
#define HAWSER_DATAPLANE_PATH_OUT_H

#include "agent/dataplane/worker.h"

/* Reads from the worker's TUN queue until it is empty or the budget is used up. */
void path_out_drain(struct worker *w);

#endif
