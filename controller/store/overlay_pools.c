#include "controller/store/overlay_pools.h"
#include "common/bytes.h"
#include "common/id.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

static const char *const keys[OVERLAY_POOLS] = {"overlay_pool_ipv4", "overlay_pool_ipv6"};

static int pool_get(struct db *db, unsigned i, struct prefix *out, struct err *e)
{
    char *text = NULL;
    int rc = store_meta_get(db, keys[i], &text, e);
    if (!rc && prefix_parse(text, out, NULL))
        rc = err_set(e, HW_EFAIL, "the store's %s is no prefix", keys[i]);
    free(text);
    return rc;
}

int store_overlay_pools(struct db *db, struct prefix out[OVERLAY_POOLS], struct err *e)
{
    int rc = pool_get(db, 0, &out[0], e);
    return rc ? rc : pool_get(db, 1, &out[1], e);
}

static struct prefix default_pool(unsigned i)
{
    struct prefix p = {.addr = {.family = 4, .b = {100, 127}}, .len = 16};
    if (i == 0)
        return p;
    p = (struct prefix){.addr = {.family = 6, .b = {0xfd}}, .len = 48};
    rand_bytes(&p.addr.b[1], 5);
    return p;
}

static int pool_set(struct db *db, unsigned i, const struct prefix *wanted, struct err *e)
{
    struct prefix have;
    char text[PREFIX_TEXT_MAX];
    int rc = pool_get(db, i, &have, e);
    if (!rc && wanted->addr.family && !prefix_equal(&have, wanted))
        return err_set_field(e, HW_ECONFLICT, "overlay_pools",
                             "the store was made with the overlay pool %s, which can't be changed",
                             prefix_text(&have, text));
    if (rc != HW_ENOTFOUND)
        return rc;
    have = wanted->addr.family ? *wanted : default_pool(i);
    return store_meta_set(db, keys[i], prefix_text(&have, text), e);
}

int store_overlay_pools_set(struct db *db, const struct prefix wanted[OVERLAY_POOLS], struct err *e)
{
    int rc = pool_set(db, 0, &wanted[0], e);
    return rc ? rc : pool_set(db, 1, &wanted[1], e);
}

/* The host part as a number: of an address in a pool. Pools are at most 2^32 addresses for this
 * purpose: the last four bytes. */
static uint32_t host_number(const struct ipaddr *a, uint32_t mask)
{
    return load_be32(a->b + (a->family == 4 ? 0 : 12)) & mask;
}

static uint32_t host_mask(const struct prefix *pool)
{
    unsigned host_bits = ipaddr_bits(&pool->addr) - pool->len;
    return host_bits >= 32 ? UINT32_MAX : (1u << host_bits) - 1;
}

static struct ipaddr host_address(const struct prefix *pool, uint32_t number)
{
    struct ipaddr a = pool->addr;
    uint8_t *tail = a.b + (a.family == 4 ? 0 : 12);
    store_be32(tail, load_be32(tail) | number);
    return a;
}

/* Host numbers of one pool in use, ascending. */
static int used_numbers(struct db *db, unsigned pool, uint32_t mask, uint32_t **out, size_t *n,
                        struct err *e)
{
    struct stmt q =
        pool == 0
            ? stmt_get(db, "SELECT overlay4 FROM gateways WHERE overlay4 NOT NULL ORDER BY 1")
            : stmt_get(db, "SELECT overlay6 FROM gateways WHERE overlay6 NOT NULL ORDER BY 1");
    void *list = NULL;
    int rc;
    *n = 0;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct ipaddr a;
        uint32_t *number = rows_add(&list, n, sizeof *number);
        if (!number) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        col_ip(&q, &a);
        *number = host_number(&a, mask);
    }
    stmt_end(&q);
    *out = list;
    return rc < 0 ? rc : 0;
}

/* 0 when none is free. `used` is ascending. */
static uint32_t free_number(const uint32_t *used, size_t n, uint32_t last)
{
    uint32_t highest = n ? used[n - 1] : 0;
    if (highest < last)
        return highest + 1;
    uint32_t candidate = 1;
    for (size_t i = 0; i < n && used[i] <= candidate; i++)
        if (used[i] == candidate)
            candidate++;
    return candidate <= last ? candidate : 0;
}

static int alloc(struct db *db, unsigned pool, const struct prefix *p, struct ipaddr *out,
                 struct err *e)
{
    uint32_t *used = NULL, mask = host_mask(p);
    size_t n = 0;
    int rc = used_numbers(db, pool, mask, &used, &n, e);
    if (!rc) {
        uint32_t number = free_number(used, n, mask - 1);
        if (number)
            *out = host_address(p, number);
        else
            rc = err_set(e, HW_ECONFLICT, "the %s overlay pool is exhausted",
                         pool == 0 ? "IPv4" : "IPv6");
    }
    free(used);
    return rc;
}

int store_overlay_alloc(struct db *db, struct ipaddr *out4, struct ipaddr *out6, struct err *e)
{
    struct prefix pools[OVERLAY_POOLS];
    int rc = store_overlay_pools(db, pools, e);
    if (!rc)
        rc = alloc(db, 0, &pools[0], out4, e);
    return rc ? rc : alloc(db, 1, &pools[1], out6, e);
}
