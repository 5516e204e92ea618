#include "agent/control/keying/spi.h"
#include "common/id.h"
#include <stdbool.h>
#include <stdlib.h>

#define CAP_FIRST 1024u
#define IN_USE    UINT64_MAX

/* Open addressing; spi 0: empty. Entries whose hour is over count as absent and go at the next
 * rebuild. */
struct entry {
    uint32_t spi;
    uint64_t until_ns; /* IN_USE, or end of the hour */
};

struct spi_pool {
    struct entry *table;
    size_t cap;    /* a power of two */
    size_t filled; /* entries that are not empty, ended ones included */
};

int spi_pool_new(struct spi_pool **out, struct err *e)
{
    struct spi_pool *p = calloc(1, sizeof *p);
    if (p)
        p->table = calloc(CAP_FIRST, sizeof *p->table);
    if (!p || !p->table) {
        free(p);
        return err_set(e, HW_ENOMEM, "SPI table: out of memory");
    }
    p->cap = CAP_FIRST;
    *out = p;
    return 0;
}

void spi_pool_free(struct spi_pool *p)
{
    if (!p)
        return;
    free(p->table);
    free(p);
}

/* The entry of this SPI, or the empty place for it. SPIs are random, so their low bits are the
 * hash. */
static struct entry *place(struct entry *table, size_t cap, uint32_t spi)
{
    size_t i = spi & (cap - 1);
    while (table[i].spi != 0 && table[i].spi != spi)
        i = (i + 1) & (cap - 1);
    return &table[i];
}

/* Room for `more` entries at half load; drops what ended before `now`. */
static int make_room(struct spi_pool *p, size_t more, uint64_t now, struct err *e)
{
    if ((p->filled + more) * 2 <= p->cap)
        return 0;
    size_t live = spi_count(p, now);
    size_t cap = CAP_FIRST;
    while ((live + more) * 4 > cap)
        cap *= 2;
    struct entry *table = calloc(cap, sizeof *table);
    if (!table)
        return err_set(e, HW_ENOMEM, "SPI table: out of memory");
    for (size_t i = 0; i < p->cap; i++)
        if (p->table[i].spi != 0 && p->table[i].until_ns > now)
            *place(table, cap, p->table[i].spi) = p->table[i];
    free(p->table);
    p->table = table;
    p->cap = cap;
    p->filled = live;
    return 0;
}

static void insert(struct spi_pool *p, uint32_t spi)
{
    struct entry *at = place(p->table, p->cap, spi);
    if (at->spi == 0)
        p->filled++;
    *at = (struct entry){spi, IN_USE};
}

int spi_take(struct spi_pool *p, uint32_t *out, size_t n, uint64_t now, struct err *e)
{
    int rc = make_room(p, n, now, e);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < n; i++) {
        uint32_t spi;
        bool taken;
        do {
            spi = rand_u32();
            const struct entry *at = place(p->table, p->cap, spi);
            taken = spi < SPI_MIN || (at->spi == spi && at->until_ns > now);
        } while (taken);
        insert(p, spi);
        out[i] = spi;
    }
    return 0;
}

int spi_adopt(struct spi_pool *p, uint32_t spi, struct err *e)
{
    int rc = make_room(p, 1, 0, e);
    if (rc == 0)
        insert(p, spi);
    return rc;
}

void spi_release(struct spi_pool *p, uint32_t spi, uint64_t now)
{
    struct entry *at = spi ? place(p->table, p->cap, spi) : NULL;
    if (at && at->spi == spi && at->until_ns == IN_USE)
        at->until_ns = now + SPI_REUSE_NS;
}

size_t spi_count(const struct spi_pool *p, uint64_t now)
{
    size_t n = 0;
    for (size_t i = 0; i < p->cap; i++)
        n += p->table[i].spi != 0 && p->table[i].until_ns > now;
    return n;
}
