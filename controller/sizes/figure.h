/* Which of a size's figures stands for it ("Instance sizes" in docs/protocols.md). */
#ifndef HAWSER_CONTROLLER_SIZES_FIGURE_H
#define HAWSER_CONTROLLER_SIZES_FIGURE_H

#include "controller/store/size.h"

/* The encrypted throughput at this MTU of the underlay: of the largest MTU that is no larger, else
 * of the smallest that is larger (f->mtu tells). NULL when no figure compares. */
const struct store_figure *figure_choose(const struct store_figure *figures, size_t n, unsigned mtu,
                                         bool published_alone);

#endif
