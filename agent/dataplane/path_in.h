/* From tunnels: receive, open, check, then to TUN, into another tunnel, or answered here (STAMP).
 */
#ifndef HAWSER_DATAPLANE_PATH_IN_H
#define HAWSER_DATAPLANE_PATH_IN_H

#include "agent/dataplane/worker.h"

/* Reads from a socket until it is empty or the budget is used up. */
void path_in_drain(struct worker *w, struct udp_socket *s);
/* Writes to TUN what is being merged, and lets its buffers go. */
void path_in_flush(struct worker *w);

/* gro_merge's output (gro_emit_fn): one write to TUN. */
void path_in_emit(void *worker, const struct iovec *iov, unsigned n, size_t bytes,
                  unsigned packets);

#endif
