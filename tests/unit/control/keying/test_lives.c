/*
 * Random lives of two gateways: whatever happens to them, in whatever order, both ends come to the
 * same keys by themselves. HAWSER_SEEDS="FIRST COUNT" plays other lives than the usual ones.
 */
#include "common/clock.h"
#include "tests/unit/control/keying/pair.h"
#include <CUnit/Basic.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS      24
#define SEEDS_LONG 200

static struct node *const low = &pair.low, *const high = &pair.high;

/* One thing that can happen to a gateway, chosen by chance. */
static void mishap(struct node *n)
{
    switch (random() % 8) {
    case 0:
        pair_cut_tcp();
        break;
    case 1:
        node_stop(n);
        pair_turns((unsigned)random() % 20);
        node_start(n);
        break;
    case 2:
        fake_dataplane_reboot(&n->dp);
        break;
    case 3:
        fake_dataplane_drop(&n->dp);
        break;
    case 4: /* a slow dataplane */
        n->dp.hold = true;
        pair_turns((unsigned)random() % 40);
        fake_dataplane_release(&n->dp);
        break;
    case 5: /* one that refuses */
        n->dp.fail_type = random() % 2 ? DP_SA_INSTALL : DP_SA_SWITCH;
        n->dp.fail_status = HW_EFAIL;
        pair_turns((unsigned)random() % 40);
        n->dp.fail_type = 0;
        break;
    case 6: /* no packet crosses */
        pair.traffic = false;
        pair_turns((unsigned)random() % 40);
        pair.traffic = true;
        break;
    default:
        CU_ASSERT_EQUAL(keying_rekey_now(n->keying, &n->link.id, NULL), 0);
        break;
    }
}

static void show_node(const struct node *n)
{
    struct keying_link_status s = node_status(n);
    (void)fprintf(stderr,
                  "  %s: %s keyed=%d epoch=%" PRIu64 " tunnels=%u failures=%u inbound<=%u \"%s\"\n",
                  n->name, keying_state_name(s.state), s.keyed, s.epoch, s.tunnels, s.failures,
                  n->dp.max_inbound, s.last_error);
    for (unsigned i = 0; i < n->dp.n_sas; i++)
        if (n->dp.sas[i].sa.tunnel == 0)
            (void)fprintf(stderr, "    epoch=%" PRIu64 " %s active=%d\n", n->dp.sas[i].epoch,
                          n->dp.sas[i].direction == DP_DIR_IN ? "in" : "out", n->dp.sas[i].active);
}

static void live(unsigned seed)
{
    srandom(seed);
    pair_init();
    node_start(low);
    node_start(high);
    for (long n = 3 + random() % 12; n > 0; n--) {
        mishap(random() % 2 ? low : high);
        pair_turns((unsigned)random() % 40);
    }
    uint64_t start = clock_mono_ns();
    bool keyed = pair_until(pair_keyed, 15);
    bool bounded = low->dp.max_inbound <= 3 && high->dp.max_inbound <= 3;
    if (getenv("HAWSER_SEEDS") != NULL)
        (void)fprintf(stderr, "seed %u: %" PRIu64 " ms\n", seed,
                      (uint64_t)((clock_mono_ns() - start) / NS_PER_MS));
    if (!keyed || !bounded) {
        (void)fprintf(stderr, "seed %u\n", seed);
        show_node(low);
        show_node(high);
    }
    CU_ASSERT(keyed);
    CU_ASSERT(bounded);
    pair_done();
}

static void test_random_lives(void)
{
    unsigned first = 1, count = getenv("HAWSER_LONG") ? SEEDS_LONG : SEEDS;
    const char *seeds = getenv("HAWSER_SEEDS");
    if (seeds)
        CU_ASSERT_EQUAL_FATAL(sscanf(seeds, "%u %u", &first, &count), 2);
    for (unsigned i = 0; i < count; i++)
        live(first + i);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random lives", test_random_lives},
        CU_TEST_INFO_NULL,
    };
    return pair_run("lives", tests);
}
