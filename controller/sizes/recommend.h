/* "What size for so many Gbit/s at this MTU?", with its reasons. Pure: the caller reads the store.
 */
#ifndef HAWSER_CONTROLLER_SIZES_RECOMMEND_H
#define HAWSER_CONTROLLER_SIZES_RECOMMEND_H

#include "controller/sizes/figure.h"

#define RECOMMEND_MAX          10
#define RECOMMEND_GATEWAYS_MAX 16
#define RECOMMEND_TEXT_MAX     512

/* A size with what is known of it. */
struct sized {
    const struct store_size *size;
    const struct store_figure *figures;
    size_t n_figures;
};

struct recommended {
    const struct store_size *size;
    const struct store_figure *figure;
    unsigned gateways;   /* 1–RECOMMEND_GATEWAYS_MAX */
    double expected_bps; /* of all of them together */
    bool burstable;
    char reason[RECOMMEND_TEXT_MAX];
};

struct recommendation {
    struct recommended items[RECOMMEND_MAX]; /* best first */
    size_t n;
    char explanation[RECOMMEND_TEXT_MAX];
};

/* Borrows from `sizes`. HW_ENOMEM. */
int recommend(const struct sized *sizes, size_t n, double target_bps, unsigned mtu,
              struct recommendation *out, struct err *e);

#endif
