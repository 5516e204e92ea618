#include "agent/dataplane/sa_table.h"
#include <stdlib.h>

int sa_table_init(struct sa_table *t, uint32_t max, struct err *e)
{
    uint32_t capacity = 16;
    if (max > 1u << 24)
        return err_set(e, HW_EINVAL, "SA table of %u entries", max);
    while (capacity < max * 2)
        capacity *= 2;
    t->slots = calloc(capacity, sizeof *t->slots);
    if (!t->slots)
        return err_set(e, HW_ENOMEM, "SA table of %u entries", max);
    t->mask = capacity - 1;
    t->count = 0;
    return 0;
}

void sa_table_done(struct sa_table *t)
{
    free(t->slots);
    *t = (struct sa_table){0};
}

int sa_table_add(struct sa_table *t, struct sa *sa)
{
    if (t->count >= (t->mask + 1) / 2)
        return HW_ETOOBIG;
    uint32_t i = sa->spi & t->mask;
    for (; t->slots[i].spi; i = (i + 1) & t->mask)
        if (t->slots[i].spi == sa->spi)
            return HW_ECONFLICT;
    t->slots[i] = (struct sa_slot){.spi = sa->spi, .sa = sa};
    t->count++;
    return 0;
}

/* Entries behind the hole move up if the hole lies between their own place and where they stand, so
 * that no tombstones gather. */
static void close_hole(struct sa_table *t, uint32_t hole)
{
    for (uint32_t i = (hole + 1) & t->mask; t->slots[i].spi; i = (i + 1) & t->mask) {
        uint32_t home = t->slots[i].spi & t->mask;
        if (((i - home) & t->mask) < ((i - hole) & t->mask))
            continue;
        t->slots[hole] = t->slots[i];
        hole = i;
    }
    t->slots[hole] = (struct sa_slot){0};
}

void sa_table_remove(struct sa_table *t, const struct sa *sa)
{
    for (uint32_t i = sa->spi & t->mask; t->slots[i].spi; i = (i + 1) & t->mask) {
        if (t->slots[i].sa != sa)
            continue;
        close_hole(t, i);
        t->count--;
        return;
    }
}
