/* The catalogue of schema/data, compiled in, and its way into the store. */
#ifndef HAWSER_CONTROLLER_SIZES_CATALOGUE_H
#define HAWSER_CONTROLLER_SIZES_CATALOGUE_H

#include "common/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;

/* Rows as store/size.h has them: 0 and "" are not known. */
struct catalogue_size {
    const char *provider, *size;
    unsigned vcpus;
    uint64_t memory_bytes, nic_bps;
    const char *note;
};

struct catalogue_figure {
    size_t size; /* into catalogue_sizes */
    const char *source, *role;
    unsigned mtu, tcp_streams;
    const char *encryption;
    int gro;
    const char *metric, *unit;
    double value, throughput_bps;
    const char *note;
};

extern const char catalogue_version[]; /* of the files' contents */
extern const struct catalogue_size catalogue_sizes[];
extern const size_t catalogue_sizes_count;
extern const struct catalogue_figure catalogue_figures[];
extern const size_t catalogue_figures_count;

/*
 * Brings the store's rows up to the catalogue, inside a write transaction; *changed is false where
 * they are of this very one already. A size keeps its id, and what was measured of it. A size that
 * the catalogue has no more becomes the operator's, who may delete it.
 */
int catalogue_load(struct db *db, bool *changed, struct err *e);

#endif
