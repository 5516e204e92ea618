#include "agent/dataplane/fib.h"
#include "common/bytes.h"
#include <stdlib.h>
#include <string.h>

/*
 * Longest match by ranges: the prefixes of a table cut the address space into ranges, each with one
 * answer, so a look-up is a binary search over range starts, without branches that could be
 * mispredicted. Tables lie one after another in shared arrays; an IPv4 table of 1000 prefixes is 8
 * KiB of starts and ten steps.
 */
__extension__ typedef unsigned __int128
    key128; /* an address, first byte highest; IPv4 in the top 32 bits */

#define NONE         UINT32_MAX
#define SOURCE_WORDS (HW_LINKS_MAX / 64)

struct table {
    uint32_t first, count; /* ranges; count 0: no prefixes at all */
};
struct family_ranges {
    uint32_t *start4; /* of the family in use one array each, the other is NULL */
    key128 *start6;
    uint32_t *answer; /* index of the source or route; NONE */
    uint32_t used, cap;
};

struct fib {
    uint64_t generation;
    struct family_ranges v4, v6;
    struct table source_table[2];
    uint32_t domains;     /* highest domain + 1 */
    struct table *tables; /* [domain][class][family] */
    struct fib_source *sources;
    uint64_t *source_links;
    struct fib_route *routes;
    struct fib_set *sets;
};

/* What builds one table: prefixes of one family. */
struct item {
    key128 start, end; /* inclusive */
    uint8_t len;
    uint32_t table; /* which table it belongs to */
    uint32_t answer;
};

static key128 key_of(const uint8_t addr[16])
{
    return (key128)load_be64(addr) << 64 | load_be64(addr + 8);
}

static struct item item_of(const uint8_t addr[16], uint8_t len, uint32_t table, uint32_t answer)
{
    key128 start = key_of(addr);
    key128 host = len == 0 ? ~(key128)0 : len == 128 ? 0 : (~(key128)0 >> len);
    return (struct item){
        .start = start, .end = start | host, .len = len, .table = table, .answer = answer};
}

/* By table, then outer prefixes before the ones inside them. */
static int item_cmp(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->len > b->len) - (a->len < b->len);
}

/* Adds a range that starts at `start`; one that begins at the same place or continues the same
 * answer takes the last one's place. */
static void put_range(struct family_ranges *r, uint32_t first, key128 start, uint32_t answer)
{
    uint32_t i = r->used;
    if (i > first) {
        key128 last = r->start4 ? (key128)r->start4[i - 1] << 96 : r->start6[i - 1];
        if (last == start)
            i--;
        if (i > first && r->answer[i - 1] == answer) {
            r->used = i;
            return;
        }
    }
    if (r->start4)
        r->start4[i] = (uint32_t)(start >> 96);
    else
        r->start6[i] = start;
    r->answer[i] = answer;
    r->used = i + 1;
}

/* One table: sweeps over its sorted prefixes with a stack of those that are open. */
static struct table build_table(struct family_ranges *r, const struct item *items, size_t n)
{
    const struct item *open[129] = {NULL};
    unsigned depth = 0;
    uint32_t first = r->used;
    put_range(r, first, 0, NONE);
    for (size_t i = 0; i <= n; i++) {
        while (depth > 0 && (i == n || open[depth - 1]->end < items[i].start)) {
            key128 after = open[--depth]->end + 1;
            if (after != 0)
                put_range(r, first, after, depth ? open[depth - 1]->answer : NONE);
        }
        if (i < n) {
            /* The same prefix again: the later entry counts. */
            if (depth > 0 && open[depth - 1]->start == items[i].start &&
                open[depth - 1]->len == items[i].len)
                depth--;
            put_range(r, first, items[i].start, items[i].answer);
            open[depth++] = &items[i];
        }
    }
    return (struct table){.first = first, .count = r->used - first};
}

/* All tables of one family: `items` sorted here, `tables[item.table]` filled in. */
static void build_tables(struct family_ranges *r, struct item *items, size_t n,
                         struct table *tables)
{
    if (n == 0)
        return;
    qsort(items, n, sizeof *items, item_cmp);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && items[end].table == items[i].table)
            end++;
        tables[items[i].table] = build_table(r, items + i, end - i);
        i = end;
    }
}

static uint32_t search4(const uint32_t *start, uint32_t n, uint32_t key)
{
    const uint32_t *base = start;
    while (n > 1) {
        uint32_t half = n / 2;
        base = base[half] <= key ? base + half : base;
        n -= half;
    }
    return (uint32_t)(base - start);
}

static uint32_t search6(const key128 *start, uint32_t n, key128 key)
{
    const key128 *base = start;
    while (n > 1) {
        uint32_t half = n / 2;
        base = base[half] <= key ? base + half : base;
        n -= half;
    }
    return (uint32_t)(base - start);
}

static uint32_t lookup(const struct fib *f, const struct table *t, uint8_t family,
                       const uint8_t *addr)
{
    if (t->count == 0)
        return NONE;
    if (family == 4)
        return f->v4.answer[t->first + search4(f->v4.start4 + t->first, t->count, load_be32(addr))];
    return f->v6.answer[t->first + search6(f->v6.start6 + t->first, t->count, key_of(addr))];
}

/* The image's tables, found by the header's counts (checked by dp_fib_validate). */
struct image {
    struct dp_fib_header h;
    const uint8_t *links, *sources, *source_links, *routes, *sets, *members;
};

static void image_open(struct image *im, const uint8_t *p)
{
    memcpy(&im->h, p, sizeof im->h);
    im->links = p + sizeof im->h;
    im->sources = im->links + im->h.n_links * sizeof(struct hw_id);
    im->source_links = im->sources + im->h.n_sources * sizeof(struct dp_fib_source);
    im->routes = im->source_links + im->h.n_source_links * sizeof(uint32_t);
    im->sets = im->routes + im->h.n_routes * sizeof(struct dp_fib_route);
    im->members = im->sets + im->h.n_sets * sizeof(struct dp_fib_set);
}

/* Entries are copied out: the image has no alignment to rely on. */
static struct dp_fib_source image_source(const struct image *im, uint32_t i)
{
    struct dp_fib_source s;
    memcpy(&s, im->sources + i * sizeof s, sizeof s);
    return s;
}
static struct dp_fib_route image_route(const struct image *im, uint32_t i)
{
    struct dp_fib_route r;
    memcpy(&r, im->routes + i * sizeof r, sizeof r);
    return r;
}

static int32_t *resolve_links(const struct image *im, fib_slot_fn *slot_of, void *ctx)
{
    int32_t *slots = calloc(im->h.n_links + 1u, sizeof *slots);
    for (uint32_t i = 0; slots && i < im->h.n_links; i++) {
        struct hw_id id;
        memcpy(&id, im->links + i * sizeof id, sizeof id);
        int slot = slot_of(ctx, &id);
        slots[i] = slot >= 0 && slot < HW_LINKS_MAX ? slot : FIB_NO_SLOT;
    }
    return slots;
}

static void copy_sources(struct fib *f, const struct image *im, const int32_t *slots)
{
    for (uint32_t i = 0; i < im->h.n_sources; i++) {
        struct dp_fib_source s = image_source(im, i);
        uint64_t *bits = f->source_links + (size_t)i * SOURCE_WORDS;
        for (uint32_t k = 0; k < s.links_count; k++) {
            uint32_t link;
            memcpy(&link, im->source_links + (s.links_first + k) * sizeof link, sizeof link);
            if (slots[link] != FIB_NO_SLOT)
                bits[slots[link] / 64] |= UINT64_C(1) << (slots[link] % 64);
        }
        f->sources[i] =
            (struct fib_source){.domain = s.domain, .local = s.local != 0, .links = bits};
    }
}

static void copy_sets(struct fib *f, const struct image *im, const int32_t *slots)
{
    for (uint32_t i = 0; i < im->h.n_sets; i++) {
        struct dp_fib_set s;
        memcpy(&s, im->sets + i * sizeof s, sizeof s);
        struct fib_set *set = &f->sets[i];
        set->n = s.members_count;
        memcpy(set->bucket, s.bucket, sizeof set->bucket);
        for (uint32_t k = 0; k < s.members_count; k++) {
            struct dp_fib_member m;
            memcpy(&m, im->members + (s.members_first + k) * sizeof m, sizeof m);
            set->slot[k] = slots[m.link];
            if (slots[m.link] != FIB_NO_SLOT)
                set->present |= UINT64_C(1) << k;
        }
    }
}

static void copy_routes(struct fib *f, const struct image *im)
{
    for (uint32_t i = 0; i < im->h.n_routes; i++) {
        struct dp_fib_route r = image_route(im, i);
        f->routes[i] = (struct fib_route){
            .kind = r.kind, .mtu = r.mtu, .set = r.kind == DP_ROUTE_SET ? &f->sets[r.set] : NULL};
        if (r.domain >= f->domains)
            f->domains = r.domain + 1u;
    }
}

static uint32_t table_index(uint16_t domain, uint8_t class_, unsigned is6)
{
    return ((uint32_t)domain * DP_CLASS_COUNT + class_) * 2 + is6;
}

/* Prefixes of one family out of the image, those of sources in table is6, those of routes in their
 * own. */
static size_t gather_sources(const struct image *im, uint8_t family, struct item *items)
{
    size_t n = 0;
    for (uint32_t i = 0; i < im->h.n_sources; i++) {
        struct dp_fib_source s = image_source(im, i);
        if (s.family == family)
            items[n++] = item_of(s.addr, s.len, family == 6, i);
    }
    return n;
}
static size_t gather_routes(const struct image *im, uint8_t family, struct item *items)
{
    size_t n = 0;
    for (uint32_t i = 0; i < im->h.n_routes; i++) {
        struct dp_fib_route r = image_route(im, i);
        if (r.family == family)
            items[n++] = item_of(r.addr, r.len, table_index(r.domain, r.class_, family == 6), i);
    }
    return n;
}

static void build_family(struct fib *f, struct family_ranges *r, const struct image *im,
                         uint8_t family, struct item *items)
{
    build_tables(r, items, gather_sources(im, family, items), f->source_table);
    build_tables(r, items, gather_routes(im, family, items), f->tables);
}

/* Each prefix opens at most two ranges, each table one more, and there are no more tables than
 * prefixes. */
static bool allocate(struct fib *f, const struct image *im)
{
    size_t ranges = 3 * ((size_t)im->h.n_sources + im->h.n_routes) + 2;
    f->v4.start4 = calloc(ranges, sizeof *f->v4.start4);
    f->v4.answer = calloc(ranges, sizeof *f->v4.answer);
    f->v6.start6 = calloc(ranges, sizeof *f->v6.start6);
    f->v6.answer = calloc(ranges, sizeof *f->v6.answer);
    f->sources = calloc(im->h.n_sources + 1u, sizeof *f->sources);
    f->source_links = calloc((size_t)im->h.n_sources * SOURCE_WORDS + 1, sizeof *f->source_links);
    f->routes = calloc(im->h.n_routes + 1u, sizeof *f->routes);
    f->sets = calloc(im->h.n_sets + 1u, sizeof *f->sets);
    return f->v4.start4 && f->v4.answer && f->v6.start6 && f->v6.answer && f->sources &&
           f->source_links && f->routes && f->sets;
}

static bool build(struct fib *f, const struct image *im, const int32_t *slots)
{
    copy_sources(f, im, slots);
    copy_sets(f, im, slots);
    copy_routes(f, im);
    size_t most = (im->h.n_sources > im->h.n_routes ? im->h.n_sources : im->h.n_routes) + 1u;
    struct item *items = calloc(most, sizeof *items);
    f->tables = calloc((size_t)f->domains * DP_CLASS_COUNT * 2 + 1, sizeof *f->tables);
    if (items && f->tables) {
        build_family(f, &f->v4, im, 4, items);
        build_family(f, &f->v6, im, 6, items);
    }
    bool ok = items && f->tables;
    free(items);
    return ok;
}

int fib_new(const void *image, size_t len, fib_slot_fn *slot_of, void *ctx, struct fib **out,
            struct err *e)
{
    int rc = dp_fib_validate(image, len, e);
    if (rc < 0)
        return rc;
    struct image im;
    image_open(&im, image);
    struct fib *f = calloc(1, sizeof *f);
    int32_t *slots = resolve_links(&im, slot_of, ctx);
    bool ok = f && slots && allocate(f, &im) && build(f, &im, slots);
    free(slots);
    if (!ok) {
        fib_free(f);
        return err_set(e, HW_ENOMEM, "routing snapshot");
    }
    f->generation = im.h.generation;
    *out = f;
    return 0;
}

void fib_free(struct fib *f)
{
    if (!f)
        return;
    free(f->v4.start4);
    free(f->v4.answer);
    free(f->v6.start6);
    free(f->v6.answer);
    free(f->tables);
    free(f->sources);
    free(f->source_links);
    free(f->routes);
    free(f->sets);
    free(f);
}

uint64_t fib_generation(const struct fib *f)
{
    return f->generation;
}

const struct fib_source *fib_source(const struct fib *f, uint8_t family, const uint8_t *src)
{
    uint32_t i = lookup(f, &f->source_table[family == 6], family, src);
    return i == NONE ? NULL : &f->sources[i];
}

const struct fib_route *fib_route(const struct fib *f, uint16_t domain, uint8_t class_,
                                  uint8_t family, const uint8_t *dst)
{
    if (domain >= f->domains || class_ >= DP_CLASS_COUNT)
        return NULL;
    uint32_t i = lookup(f, &f->tables[table_index(domain, class_, family == 6)], family, dst);
    return i == NONE ? NULL : &f->routes[i];
}

static uint64_t remix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    return h ^ h >> 32;
}

static unsigned nth_bit(uint64_t mask, unsigned n)
{
    for (; n > 0; n--)
        mask &= mask - 1;
    return (unsigned)__builtin_ctzll(mask);
}

/* A dead member's flow draws again from the buckets, so that weights count, and after a few misses
 * takes any live member. */
int fib_set_member(const struct fib_set *s, uint64_t hash, uint64_t live)
{
    enum { DRAWS = 8 };
    live &= s->present;
    if (live == 0)
        return -1;
    for (unsigned draw = 0; draw < DRAWS; draw++, hash = remix(hash + draw)) {
        unsigned m = s->bucket[hash >> 52];
        if (m < s->n && (live >> m & 1))
            return (int)m;
    }
    return (int)nth_bit(live, (unsigned)(hash % (unsigned)__builtin_popcountll(live)));
}
