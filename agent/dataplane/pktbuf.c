#include "agent/dataplane/pktbuf.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Not a multiple of the page size, so that equal offsets of neighbouring buffers fall into
 * different cache sets. */
#define AREA_LEN (PKTBUF_HEADROOM + PKTBUF_ROOM + PKTBUF_TAILROOM)
_Static_assert(AREA_LEN % 64 == 0 && AREA_LEN % 4096 != 0, "areas are cache-line aligned");

struct pktbuf_pool {
    struct pktbuf *free;
    unsigned available, count;
    uint8_t *memory;
    size_t memory_len;
    struct pktbuf bufs[];
};

/* Huge pages are asked for, not required: fewer TLB misses over a few MiB of packets. */
static uint8_t *map_memory(size_t len)
{
    void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    (void)madvise(p, len, MADV_HUGEPAGE);
    memset(p, 0, len);
    return p;
}

int pktbuf_pool_new(unsigned count, struct pktbuf_pool **out, struct err *e)
{
    if (count == 0 || count > 65536)
        return err_set(e, HW_EINVAL, "packet pool of %u buffers", count);
    struct pktbuf_pool *pool = calloc(1, sizeof *pool + count * sizeof pool->bufs[0]);
    if (!pool)
        return err_set(e, HW_ENOMEM, "packet pool");
    pool->memory_len = (size_t)count * AREA_LEN;
    pool->memory = map_memory(pool->memory_len);
    if (!pool->memory) {
        free(pool);
        return err_set(e, HW_ENOMEM, "packet pool of %u buffers", count);
    }
    pool->count = count;
    for (unsigned i = count; i-- > 0;) {
        struct pktbuf *b = &pool->bufs[i];
        b->pool = pool;
        b->index = i;
        b->area = pool->memory + (size_t)i * AREA_LEN;
        pktbuf_put(b);
    }
    *out = pool;
    return 0;
}

void pktbuf_pool_free(struct pktbuf_pool *pool)
{
    if (!pool)
        return;
    assert(pool->available == pool->count);
    (void)munmap(pool->memory, pool->memory_len);
    free(pool);
}

struct pktbuf *pktbuf_get(struct pktbuf_pool *pool)
{
    struct pktbuf *b = pool->free;
    if (!b)
        return NULL;
    pool->free = b->next;
    pool->available--;
    b->next = NULL;
    pktbuf_reset(b);
    return b;
}

/* Last in, first out: the buffer that is still in cache is used next. */
void pktbuf_put(struct pktbuf *b)
{
    if (!b)
        return;
    b->next = b->pool->free;
    b->pool->free = b;
    b->pool->available++;
}

unsigned pktbuf_available(const struct pktbuf_pool *pool)
{
    return pool->available;
}
