/* Instance sizes and the figures known of them: of the catalogue (published) and the operator's. */
#ifndef HAWSER_CONTROLLER_STORE_SIZE_H
#define HAWSER_CONTROLLER_STORE_SIZE_H

#include "common/id.h"
#include "common/limits.h"
#include "controller/store/store.h"

#define SIZE_PROVIDER_MAX 32
#define SIZE_KEY_MAX      (SIZE_PROVIDER_MAX + HW_NAME_MAX + 2)

struct store_size {
    struct hw_id id;
    char provider[SIZE_PROVIDER_MAX];
    char size[HW_NAME_MAX + 1];
    char key[SIZE_KEY_MAX]; /* "provider/size": the order of lists; set by reading */
    unsigned vcpus;         /* 0: not known, as below */
    uint64_t memory_bytes, nic_bps;
    char note[HW_TEXT_MAX + 1];
    bool by_operator; /* false: of the catalogue */
    struct store_common common;
};

struct store_figure {
    struct hw_id id, size_id;
    bool published;    /* of the catalogue; false: measured by the operator */
    unsigned position; /* row of the catalogue, from 1 */
    char source[96];
    char role[HW_NAME_MAX + 1]; /* "" not known, as below */
    unsigned mtu, tcp_streams;  /* 0: not known */
    char encryption[HW_NAME_MAX + 1];
    int gro; /* 1, 0; -1 not known */
    char metric[HW_NAME_MAX + 1];
    char unit[32];
    double value;
    double throughput_bps; /* the same as a rate; 0: it is none */
    char note[HW_TEXT_MAX + 1];
    char method[HW_TEXT_MAX + 1];
    double spread_bps; /* -1: not known */
    unsigned runs;     /* 0: not known */
    int64_t measured_at, created_at;
};

/* Fills common. HW_ECONFLICT: there is one of this provider and size. */
int store_size_insert(struct db *db, struct store_size *s, struct err *e);
/* Of the catalogue: inserts it, or makes the row of this provider and size that of the catalogue;
 * s->id is then the row's. */
int store_size_put(struct db *db, struct store_size *s, struct err *e);
/* All sizes become the operator's; for those that a new catalogue doesn't put again. */
int store_size_leave_all(struct db *db, struct err *e);
int store_size_delete(struct db *db, const struct hw_id *id, struct err *e);
int store_size_get(struct db *db, const struct hw_id *id, struct store_size *out, struct err *e);
/* provider, size: "" for all. By key. free() the array. */
int store_size_list(struct db *db, const struct store_page *page, const char *provider,
                    const char *size, struct store_size **out, size_t *n, struct err *e);
int store_size_all(struct db *db, struct store_size **out, size_t *n, struct err *e);

int store_figure_insert(struct db *db, const struct store_figure *f, struct err *e);
int store_figure_delete(struct db *db, const struct hw_id *id, struct err *e);
int store_figure_delete_published(struct db *db, struct err *e);
int store_figure_get(struct db *db, const struct hw_id *id, struct store_figure *out,
                     struct err *e);
/* Measured ones first, the newest before; then published ones in their order. free() the array. */
int store_figure_list(struct db *db, const struct hw_id *size_id, struct store_figure **out,
                      size_t *n, struct err *e);

#endif
