#include "common/dp_proto.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>

/* A small complete image; tests spoil one thing in it. */
struct image {
    struct dp_fib_header h;
    struct hw_id links[2];
    struct dp_fib_source sources[2];
    uint32_t source_links[2];
    struct dp_fib_route routes[3];
    struct dp_fib_set sets[1];
    struct dp_fib_member members[2];
};
_Static_assert(sizeof(struct image) == 40 + 32 + 64 + 8 + 96 + 4104 + 16, "the image has no holes");

static struct image good(void)
{
    struct image m = {
        .h = {.magic = DP_FIB_MAGIC,
              .version = DP_PROTO_VERSION,
              .generation = 3,
              .n_links = 2,
              .n_sources = 2,
              .n_source_links = 2,
              .n_routes = 3,
              .n_sets = 1,
              .n_members = 2},
        .links = {{{1}}, {{2}}},
        .sources = {{.addr = {10, 1}, .family = 4, .len = 16, .domain = 1, .local = 1},
                    {.addr = {0xfd}, .family = 6, .len = 8, .domain = 1, .links_count = 2}},
        .source_links = {0, 1},
        .routes = {{.addr = {10, 1},
                    .family = 4,
                    .len = 16,
                    .domain = 1,
                    .class_ = 1,
                    .kind = DP_ROUTE_LOCAL},
                   {.addr = {10, 2},
                    .family = 4,
                    .len = 16,
                    .domain = 1,
                    .kind = DP_ROUTE_SET,
                    .mtu = 1400},
                   {.family = 6, .domain = 1, .kind = DP_ROUTE_UNREACHABLE}},
        .sets = {{.members_count = 2}},
        .members = {{.link = 0, .weight = 100}, {.link = 1, .weight = 1000}},
    };
    for (unsigned i = 0; i < HW_BUCKETS; i++)
        m.sets[0].bucket[i] = (uint8_t)(i % 2);
    m.sets[0].bucket[7] = DP_BUCKET_NONE;
    return m;
}

/* From an odd address, in a block of exactly `len` bytes. */
static int judge(const struct image *m, size_t len)
{
    char *copy = malloc(len + 1);
    struct err e = {0};
    memcpy(copy + 1, m, len);
    int rc = dp_fib_validate(copy + 1, len, &e);
    CU_ASSERT((rc == HW_OK) == (e.text[0] == '\0'));
    free(copy);
    return rc;
}

#define REFUSED(...)                                                                               \
    do {                                                                                           \
        struct image m = good();                                                                   \
        __VA_ARGS__;                                                                               \
        CU_ASSERT_NOT_EQUAL(judge(&m, sizeof m), HW_OK);                                           \
    } while (0)

static void test_good(void)
{
    struct image m = good();
    CU_ASSERT_EQUAL(judge(&m, sizeof m), HW_OK);
    struct image empty = {.h = {.magic = DP_FIB_MAGIC, .version = DP_PROTO_VERSION}};
    CU_ASSERT_EQUAL(judge(&empty, sizeof empty.h), HW_OK);
}

static void test_shape(void)
{
    struct image whole = good();
    for (size_t len = 0; len < sizeof whole; len += 7)
        CU_ASSERT_NOT_EQUAL(judge(&whole, len), HW_OK);
    REFUSED(m.h.magic++);
    REFUSED(m.h.version++);
    REFUSED(m.h.n_links = HW_LINKS_MAX + 1);
    REFUSED(m.h.n_routes = UINT32_MAX);
    REFUSED(m.h.n_source_links = UINT32_MAX);
    REFUSED(m.h.n_members = 1);
    REFUSED(m.h.n_sets = 2);
}

static void test_entries(void)
{
    REFUSED(m.links[1] = m.links[0]);
    REFUSED(m.links[1] = (struct hw_id){{0}});
    REFUSED(m.source_links[1] = 2);
    REFUSED(m.sources[1].links_first = 1);
    REFUSED(m.sources[1].links_first = UINT32_MAX);
    REFUSED(m.sources[0].family = 5);
    REFUSED(m.sources[0].len = 33);
    REFUSED(m.sources[0].len = 8);
    REFUSED(m.sources[0].addr[15] = 1);
    REFUSED(m.sources[0].local = 2);
    REFUSED(m.sources[0].domain = HW_DOMAINS_MAX);
    REFUSED(m.sources[0].reserved[1] = 1);
    REFUSED(m.routes[0].class_ = DP_CLASS_COUNT);
    REFUSED(m.routes[0].kind = 0);
    REFUSED(m.routes[0].kind = 4);
    REFUSED(m.routes[0].set = 1);
    REFUSED(m.routes[1].set = 1);
    REFUSED(m.routes[1].mtu = 575);
    REFUSED(m.routes[1].mtu = 65536);
    REFUSED(m.routes[1].reserved = 1);
    REFUSED(m.routes[2].len = 129);
    REFUSED(m.sets[0].members_count = 0);
    REFUSED(m.sets[0].members_count = 65);
    REFUSED(m.sets[0].members_first = 1);
    REFUSED(m.sets[0].bucket[HW_BUCKETS - 1] = 2);
    REFUSED(m.members[1].link = 2);
    REFUSED(m.members[1].weight = 0);
    REFUSED(m.members[1].weight = 1001);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"good", test_good}, {"shape", test_shape}, {"entries", test_entries}, CU_TEST_INFO_NULL};
    return suite_run("dp_fib", tests);
}
