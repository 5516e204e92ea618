/* SPI -> inbound SA of one worker: open addressing, fixed capacity, written and read by that worker
 * alone. SPIs are random, so they are their own hash. The table doesn't own the SAs. */
#ifndef HAWSER_DATAPLANE_SA_TABLE_H
#define HAWSER_DATAPLANE_SA_TABLE_H

#include "agent/dataplane/sa.h"
#include <stddef.h>
#include <stdint.h>

struct sa_table {
    struct sa_slot {
        uint32_t spi; /* 0: free */
        struct sa *sa;
    } * slots;
    uint32_t mask; /* capacity − 1 */
    uint32_t count;
};

/* Room for `max` SAs (≤ half full then). */
int sa_table_init(struct sa_table *t, uint32_t max, struct err *e);
void sa_table_done(struct sa_table *t);
/* HW_ECONFLICT when the SPI is there already, HW_ETOOBIG when full. */
int sa_table_add(struct sa_table *t, struct sa *sa);
/* No-op when absent. */
void sa_table_remove(struct sa_table *t, const struct sa *sa);

static inline struct sa *sa_table_find(const struct sa_table *t, uint32_t spi)
{
    for (uint32_t i = spi & t->mask;; i = (i + 1) & t->mask) {
        const struct sa_slot *s = &t->slots[i];
        if (s->spi == spi)
            return s->sa;
        if (s->spi == 0)
            return NULL;
    }
}

#endif
