/* Look-ups are compared with a walk over the list of prefixes. */
#include "agent/dataplane/fib.h"
#include "tests/unit/dataplane/packet_test.h"
#include <stdlib.h>

#define MAX_ENTRIES 4000

/* An image under construction, put together by image_bytes(). */
static struct {
    struct dp_fib_header h;
    struct hw_id links[8];
    struct dp_fib_source sources[MAX_ENTRIES];
    uint32_t source_links[MAX_ENTRIES];
    struct dp_fib_route routes[MAX_ENTRIES];
    struct dp_fib_set sets[4];
    struct dp_fib_member members[16];
} im;

static void image_reset(void)
{
    memset(&im, 0, sizeof im);
    im.h = (struct dp_fib_header){
        .magic = DP_FIB_MAGIC, .version = DP_PROTO_VERSION, .generation = 41};
}

static uint8_t *image_bytes(size_t *len)
{
    const struct {
        const void *p;
        size_t n;
    } parts[] = {{&im.h, sizeof im.h},
                 {im.links, im.h.n_links * sizeof im.links[0]},
                 {im.sources, im.h.n_sources * sizeof im.sources[0]},
                 {im.source_links, im.h.n_source_links * sizeof im.source_links[0]},
                 {im.routes, im.h.n_routes * sizeof im.routes[0]},
                 {im.sets, im.h.n_sets * sizeof im.sets[0]},
                 {im.members, im.h.n_members * sizeof im.members[0]}};
    size_t at = 0;
    uint8_t *out = malloc(sizeof im);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; at += parts[i++].n)
        memcpy(out + at, parts[i].p, parts[i].n);
    *len = at;
    return out;
}

/* Link number i has slot 10 * i, but the last one isn't there. */
static int slot_of(void *ctx, const struct hw_id *link)
{
    CU_ASSERT_PTR_EQUAL(ctx, &im);
    return link->b[0] == im.h.n_links ? FIB_NO_SLOT : (link->b[0] - 1) * 10;
}

static struct fib *build(void)
{
    size_t len;
    uint8_t *image = image_bytes(&len);
    struct fib *f = NULL;
    struct err e = {0};
    int rc = fib_new(image, len, slot_of, &im, &f, &e);
    if (rc != 0)
        printf("%s\n", e.text);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    free(image);
    return f;
}

static void add_links(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        im.links[im.h.n_links++].b[0] = (uint8_t)(i + 1);
}

static void mask_host_bits(uint8_t addr[16], unsigned len)
{
    for (unsigned i = len; i < 128; i++)
        addr[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
}

static struct dp_fib_route *add_route(uint8_t family, const uint8_t *addr, uint8_t len,
                                      uint16_t domain, uint8_t class_)
{
    struct dp_fib_route *r = &im.routes[im.h.n_routes++];
    *r = (struct dp_fib_route){
        .family = family, .len = len, .domain = domain, .class_ = class_, .kind = DP_ROUTE_LOCAL};
    memcpy(r->addr, addr, family == 4 ? 4 : 16);
    mask_host_bits(r->addr, len);
    r->mtu = 576 + im.h.n_routes; /* tells the routes apart */
    return r;
}

static bool covers(const uint8_t *prefix, unsigned len, const uint8_t *addr)
{
    for (unsigned i = 0; i < len; i++)
        if ((prefix[i / 8] ^ addr[i / 8]) >> (7 - i % 8) & 1)
            return false;
    return true;
}

static uint32_t mtu_by_list(uint16_t domain, uint8_t class_, uint8_t family, const uint8_t *addr)
{
    int best = -1;
    uint32_t mtu = 0;
    for (uint32_t i = 0; i < im.h.n_routes; i++) {
        const struct dp_fib_route *r = &im.routes[i];
        if (r->domain == domain && r->class_ == class_ && r->family == family && r->len > best &&
            covers(r->addr, r->len, addr)) {
            best = r->len;
            mtu = r->mtu;
        }
    }
    return mtu;
}

/* No prefix stands twice in a table; the planner doesn't make such, and the list would answer
 * otherwise. */
static bool listed(uint16_t domain, uint8_t class_, uint8_t family, const uint8_t *addr,
                   uint8_t len)
{
    uint8_t a[16] = {0};
    memcpy(a, addr, family == 4 ? 4 : 16);
    mask_host_bits(a, len);
    for (uint32_t i = 0; i < im.h.n_routes; i++) {
        const struct dp_fib_route *r = &im.routes[i];
        if (r->domain == domain && r->class_ == class_ && r->family == family && r->len == len &&
            memcmp(r->addr, a, 16) == 0)
            return true;
    }
    return false;
}

/* Prefixes crowded together, so that they nest and touch; addresses at and beside their edges. */
static void crowded_address(uint64_t *rng, uint8_t addr[16])
{
    static const uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xff};
    for (unsigned i = 0; i < 16; i++)
        addr[i] = bytes[test_random(rng) % sizeof bytes];
}

static void test_longest_match(void)
{
    uint64_t rng = 23;
    image_reset();
    for (unsigned i = 0; i < 3000; i++) {
        uint8_t addr[16], family = i & 1 ? 4 : 6;
        uint16_t domain = (uint16_t)(test_random(&rng) % 3);
        uint8_t class_ = (uint8_t)(test_random(&rng) % DP_CLASS_COUNT);
        uint8_t len = (uint8_t)(test_random(&rng) % (family == 4 ? 33 : 129));
        crowded_address(&rng, addr);
        if (!listed(domain, class_, family, addr, len))
            add_route(family, addr, len, domain, class_);
    }
    struct fib *f = build();
    for (unsigned i = 0; i < 6000; i++) {
        uint8_t addr[16], family = i & 1 ? 4 : 6;
        uint16_t domain = (uint16_t)(test_random(&rng) % 4); /* one that has no routes at all */
        uint8_t class_ = (uint8_t)(test_random(&rng) % DP_CLASS_COUNT);
        crowded_address(&rng, addr);
        const struct fib_route *r = fib_route(f, domain, class_, family, addr);
        if ((r ? r->mtu : 0) != mtu_by_list(domain, class_, family, addr))
            CU_FAIL_FATAL("look-up differs from the list");
    }
    fib_free(f);
}

/* The ends of the address space, default routes and host routes. */
static void test_edges(void)
{
    static const uint8_t zero[16] = {0}, ones[16] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                     255, 255, 255, 255, 255, 255, 255, 255};
    for (uint8_t family = 4; family <= 6; family += 2) {
        uint8_t bits = family == 4 ? 32 : 128;
        image_reset();
        add_route(family, zero, bits, 0, 0);
        add_route(family, ones, bits, 0, 0);
        add_route(family, ones, 1, 0, 0);
        struct fib *f = build();
        CU_ASSERT_EQUAL(fib_route(f, 0, 0, family, zero)->mtu, im.routes[0].mtu);
        CU_ASSERT_EQUAL(fib_route(f, 0, 0, family, ones)->mtu, im.routes[1].mtu);
        uint8_t addr[16];
        memcpy(addr, ones, 16);
        addr[bits / 8 - 1] = 254;
        CU_ASSERT_EQUAL(fib_route(f, 0, 0, family, addr)->mtu, im.routes[2].mtu);
        memcpy(addr, zero, 16);
        addr[bits / 8 - 1] = 1;
        CU_ASSERT_PTR_NULL(fib_route(f, 0, 0, family, addr));
        CU_ASSERT_PTR_NULL(fib_route(f, 1, 0, family, zero));
        CU_ASSERT_PTR_NULL(fib_route(f, 0, DP_CLASS_COUNT, family, zero));
        CU_ASSERT_PTR_NULL(fib_route(f, 0, 0, family == 4 ? 6 : 4, zero));
        fib_free(f);
    }
    image_reset();
    struct fib *f = build();
    CU_ASSERT_PTR_NULL(fib_route(f, 0, 0, 4, zero));
    CU_ASSERT_PTR_NULL(fib_source(f, 6, zero));
    CU_ASSERT_EQUAL(fib_generation(f), 41);
    fib_free(f);
}

/* The same prefix many times over must not overrun the builder. */
static void test_repeated_prefix(void)
{
    static const uint8_t addr[16] = {10, 1};
    image_reset();
    for (unsigned i = 0; i < 500; i++)
        add_route(4, addr, 16, 0, 0);
    struct fib *f = build();
    CU_ASSERT_PTR_NOT_NULL(fib_route(f, 0, 0, 4, addr));
    fib_free(f);
}

static void test_sources(void)
{
    static const uint8_t site[16] = {10, 1}, remote[16] = {10, 2}, host[16] = {10, 2, 3, 4},
                         other[16] = {10, 3};
    image_reset();
    add_links(3);
    im.source_links[0] = 1;
    im.source_links[1] = 0;
    im.source_links[2] = 2;
    im.h.n_source_links = 3;
    im.sources[0] = (struct dp_fib_source){.family = 4, .len = 16, .domain = 7, .local = 1};
    im.sources[1] = (struct dp_fib_source){
        .family = 4, .len = 16, .domain = 8, .links_first = 0, .links_count = 3};
    im.sources[2] = (struct dp_fib_source){
        .family = 4, .len = 32, .domain = 9, .links_first = 0, .links_count = 1};
    memcpy(im.sources[0].addr, site, 16);
    memcpy(im.sources[1].addr, remote, 16);
    memcpy(im.sources[2].addr, host, 16);
    im.h.n_sources = 3;
    struct fib *f = build();
    const struct fib_source *s = fib_source(f, 4, site);
    CU_ASSERT_TRUE(s->local);
    CU_ASSERT_EQUAL(s->domain, 7);
    CU_ASSERT_FALSE(fib_source_by_link(s, 0));
    s = fib_source(f, 4, remote);
    CU_ASSERT_EQUAL(s->domain, 8);
    CU_ASSERT_FALSE(s->local);
    CU_ASSERT_TRUE(fib_source_by_link(s, 0));
    CU_ASSERT_TRUE(fib_source_by_link(s, 10));
    CU_ASSERT_FALSE(fib_source_by_link(s, 20)); /* the link that isn't there */
    CU_ASSERT_FALSE(fib_source_by_link(s, HW_LINKS_MAX - 1));
    s = fib_source(f, 4, host);
    CU_ASSERT_EQUAL(s->domain, 9);
    CU_ASSERT_FALSE(fib_source_by_link(s, 0));
    CU_ASSERT_TRUE(fib_source_by_link(s, 10));
    CU_ASSERT_PTR_NULL(fib_source(f, 4, other));
    fib_free(f);
}

/* Four members over the buckets in turn. */
static struct fib *build_set(void)
{
    static const uint8_t addr[16] = {10};
    image_reset();
    add_links(5);
    im.h.n_sets = 1;
    im.h.n_members = 4;
    im.sets[0].members_count = 4;
    for (unsigned i = 0; i < HW_BUCKETS; i++)
        im.sets[0].bucket[i] = (uint8_t)(i % 4);
    for (unsigned i = 0; i < 4; i++)
        im.members[i] = (struct dp_fib_member){.link = i, .weight = 100};
    struct dp_fib_route *r = add_route(4, addr, 8, 0, DP_CLASS_SITE);
    r->kind = DP_ROUTE_SET;
    return build();
}

static void test_sets(void)
{
    static const uint8_t addr[4] = {10, 9, 9, 9};
    struct fib *f = build_set();
    const struct fib_route *r = fib_route(f, 0, DP_CLASS_SITE, 4, addr);
    CU_ASSERT_EQUAL(r->kind, DP_ROUTE_SET);
    const struct fib_set *s = r->set;
    CU_ASSERT_EQUAL(s->n, 4);
    for (int32_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(s->slot[i], i * 10);
    uint64_t rng = 31;
    unsigned moved_to[4] = {0}, moved = 0;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t h = test_random(&rng);
        int home = fib_set_member(s, h, 0xf), now = fib_set_member(s, h, 0xb);
        CU_ASSERT_EQUAL(home, (int)(h >> 52) % 4);
        if (home != 2) {
            CU_ASSERT_EQUAL(now, home); /* a living member keeps its flows */
            continue;
        }
        CU_ASSERT(now >= 0 && now != 2);
        moved_to[now]++;
        moved++;
    }
    for (unsigned i = 0; i < 4; i++)
        if (i != 2)
            CU_ASSERT(moved_to[i] * 3 > moved - moved / 10);
    for (unsigned i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(fib_set_member(s, rng + i, UINT64_C(1) << i), (int)i);
    CU_ASSERT_EQUAL(fib_set_member(s, 5, 0), -1);
    CU_ASSERT_EQUAL(fib_set_member(s, 5, ~UINT64_C(0xf)), -1);
    fib_free(f);
}

static void test_a_missing_link_is_never_chosen(void)
{
    static const uint8_t addr[4] = {10};
    struct fib *f = build_set();
    fib_free(f);
    im.h.n_links = 4; /* now member 3's link is the one without a slot */
    f = build();
    const struct fib_set *s = fib_route(f, 0, DP_CLASS_SITE, 4, addr)->set;
    CU_ASSERT_EQUAL(s->slot[3], FIB_NO_SLOT);
    uint64_t rng = 1;
    for (unsigned i = 0; i < 2000; i++)
        CU_ASSERT_NOT_EQUAL(fib_set_member(s, test_random(&rng), UINT64_MAX), 3);
    fib_free(f);
}

static void test_a_bad_image_is_refused(void)
{
    size_t len;
    struct fib *f = NULL;
    image_reset();
    uint8_t *image = image_bytes(&len);
    image[0] ^= 1;
    CU_ASSERT_NOT_EQUAL(fib_new(image, len, slot_of, &im, &f, NULL), 0);
    CU_ASSERT_NOT_EQUAL(fib_new(image, 10, slot_of, &im, &f, NULL), 0);
    CU_ASSERT_PTR_NULL(f);
    free(image);
    fib_free(NULL);
}

int main(void)
{
    CU_TestInfo tests[] = {{"longest match", test_longest_match},
                           {"edges", test_edges},
                           {"repeated prefix", test_repeated_prefix},
                           {"sources", test_sources},
                           {"sets", test_sets},
                           {"a missing link is never chosen", test_a_missing_link_is_never_chosen},
                           {"a bad image is refused", test_a_bad_image_is_refused},
                           CU_TEST_INFO_NULL};
    return packet_test_run("fib", tests);
}
