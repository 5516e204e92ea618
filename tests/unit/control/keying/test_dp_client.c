/* The agent's end of the seam, against a fake dataplane on a temporary socket. */
#include "agent/control/dp_client.h"
#include "common/clock.h"
#include "tests/unit/control/keying/fake_dataplane.h"
#include <CUnit/Basic.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct evloop *loop;
static struct fake_dataplane dp;
static struct dp_client *client;

static struct {
    unsigned connected, new_boots, lost, events, acks, dumps;
    int status;
    char text[120];
    char why[160];
    struct dp_event event;
    size_t n_sas, n_links;
    uint64_t generation;
} seen;

static void on_connected(void *arg, const struct dp_hello *hello, bool new_boot)
{
    (void)arg;
    CU_ASSERT(id_equal(&hello->boot, &dp.hello.boot));
    seen.connected++;
    seen.new_boots += new_boot;
}

static void on_lost(void *arg, const char *why)
{
    (void)arg;
    seen.lost++;
    (void)snprintf(seen.why, sizeof seen.why, "%s", why);
}

static void on_event(void *arg, const struct dp_event *ev)
{
    (void)arg;
    seen.events++;
    seen.event = *ev;
}

static const struct dp_client_handler handler = {on_connected, on_lost, on_event};

static void on_ack(void *arg, int status, const char *text)
{
    (void)arg;
    seen.acks++;
    seen.status = status;
    (void)snprintf(seen.text, sizeof seen.text, "%s", text);
}

static void on_dump(void *arg, int status, const struct dp_dump *d)
{
    (void)arg;
    seen.dumps++;
    seen.status = status;
    if (d) {
        seen.n_sas = d->n_sas;
        seen.n_links = d->n_links;
        seen.generation = d->fib.generation;
    }
}

static void stop_loop(void *arg)
{
    (void)arg;
    evloop_stop(loop);
}

/* Turns the loop until *counter reaches `want`; gives up after 5 s. */
static bool reaches(const unsigned *counter, unsigned want)
{
    struct ev_timer *t = evloop_timer_add(loop, stop_loop, NULL);
    uint64_t end = clock_mono_ns() + 5 * NS_PER_S;
    while (*counter < want && clock_mono_ns() < end) {
        evloop_timer_arm(t, NS_PER_MS);
        (void)evloop_run(loop, NULL);
    }
    evloop_timer_remove(t);
    return *counter >= want;
}

static int setup(void)
{
    memset(&seen, 0, sizeof seen);
    CU_ASSERT_FATAL(evloop_new(&loop, NULL) == 0);
    fake_dataplane_start(&dp, loop);
    return 0;
}

static void start_client(void)
{
    CU_ASSERT_FATAL(dp_client_new(loop, dp.path, getuid(), &handler, NULL, &client, NULL) == 0);
}

static void teardown(void)
{
    dp_client_free(client);
    client = NULL;
    fake_dataplane_stop(&dp);
    evloop_free(loop);
}

static struct dp_sa_install make_install(const struct hw_id *link, uint64_t epoch, unsigned n)
{
    struct dp_sa_install m = {.link = *link,
                              .peer_boot = id_new(),
                              .epoch = epoch,
                              .window = 1024,
                              .direction = DP_DIR_IN,
                              .suite = ESP_SUITE_AES_256_GCM,
                              .esn = 1,
                              .count = (uint8_t)n};
    for (unsigned i = 0; i < n; i++) {
        m.sa[i] = (struct dp_sa){.tunnel = (uint16_t)i, .spi = 1000 + i};
        memset(m.sa[i].key, 0x11, sizeof m.sa[i].key);
    }
    return m;
}

static int install(const struct hw_id *link, uint64_t epoch)
{
    struct dp_sa_install m = make_install(link, epoch, 50);
    return dp_client_request(client, DP_SA_INSTALL, &m, dp_sa_install_len(50), -1, on_ack, NULL,
                             NULL);
}

static void test_connects(void)
{
    setup();
    start_client();
    CU_ASSERT_FALSE(dp_client_connected(client));
    struct hw_id link = id_new();
    CU_ASSERT_EQUAL(install(&link, 1), HW_ECLOSED);
    CU_ASSERT(reaches(&seen.connected, 1));
    CU_ASSERT_EQUAL(seen.new_boots, 1);
    CU_ASSERT_EQUAL(dp_client_hello(client)->workers, 2);
    CU_ASSERT(fcntl(dp_client_counters_fd(client), F_GETFD) >= 0);
    CU_ASSERT_EQUAL(install(&link, 1), 0);
    CU_ASSERT_EQUAL(seen.acks, 0);
    CU_ASSERT(reaches(&seen.acks, 1));
    CU_ASSERT_EQUAL(seen.status, 0);
    CU_ASSERT_EQUAL(dp.n_sas, 50);
    teardown();
}

static void test_wrong_user(void)
{
    setup();
    CU_ASSERT_FATAL(dp_client_new(loop, dp.path, getuid() + 1, &handler, NULL, &client, NULL) == 0);
    CU_ASSERT(reaches(&seen.lost, 1));
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.why, "user"));
    CU_ASSERT_EQUAL(seen.connected, 0);
    teardown();
}

static void test_refusals(void)
{
    setup();
    start_client();
    CU_ASSERT(reaches(&seen.connected, 1));
    struct hw_id link = id_new();
    CU_ASSERT_EQUAL(install(&link, 0), HW_EPROTO); /* epoch 0 never leaves */
    dp.fail_type = DP_SA_INSTALL;
    dp.fail_status = HW_ENOTFOUND;
    CU_ASSERT_EQUAL(install(&link, 1), 0);
    CU_ASSERT(reaches(&seen.acks, 1));
    CU_ASSERT_EQUAL(seen.status, HW_ENOTFOUND);
    CU_ASSERT_STRING_EQUAL(seen.text, "told to refuse");
    CU_ASSERT_EQUAL(dp_client_request(client, DP_DUMP, NULL, 0, -1, NULL, NULL, NULL), HW_EINVAL);
    teardown();
}

/* More than a socket buffer holds: what waits leaves in order once there is room. */
static void test_full_buffer(void)
{
    setup();
    start_client();
    CU_ASSERT(reaches(&seen.connected, 1));
    struct hw_id link = id_new();
    for (unsigned i = 1; i <= 400; i++) {
        struct dp_sa_install m = make_install(&link, i, 2);
        CU_ASSERT_EQUAL(dp_client_request(client, DP_SA_INSTALL, &m, dp_sa_install_len(2), -1,
                                          on_ack, NULL, NULL),
                        0);
    }
    CU_ASSERT(reaches(&seen.acks, 400));
    CU_ASSERT_EQUAL(dp.n_sas, 800);
    for (unsigned i = 0; i < 800; i++)
        CU_ASSERT_EQUAL(dp.sas[i].epoch, 1 + i / 2);
    teardown();
}

static void test_lost_and_back(void)
{
    setup();
    start_client();
    CU_ASSERT(reaches(&seen.connected, 1));
    struct hw_id link = id_new();
    dp.hold = true;
    CU_ASSERT_EQUAL(install(&link, 1), 0);
    CU_ASSERT_EQUAL(install(&link, 2), 0);
    CU_ASSERT(reaches(&dp.n_held, 2));
    fake_dataplane_drop(&dp);
    CU_ASSERT(reaches(&seen.lost, 1));
    CU_ASSERT_EQUAL(seen.acks, 2);
    CU_ASSERT_EQUAL(seen.status, HW_ECLOSED);
    CU_ASSERT_EQUAL(dp_client_counters_fd(client), -1);
    dp.hold = false;
    CU_ASSERT(reaches(&seen.connected, 2));
    CU_ASSERT_EQUAL(seen.new_boots, 1); /* the same process */
    fake_dataplane_reboot(&dp);
    CU_ASSERT(reaches(&seen.connected, 3));
    CU_ASSERT_EQUAL(seen.new_boots, 2);
    teardown();
}

static void test_dump(void)
{
    setup();
    start_client();
    CU_ASSERT(reaches(&seen.connected, 1));
    struct hw_id link = id_new();
    CU_ASSERT_EQUAL(install(&link, 3), 0);
    CU_ASSERT_EQUAL(dp_client_dump(client, on_dump, NULL, NULL), 0);
    CU_ASSERT_EQUAL(dp_client_dump(client, on_dump, NULL, NULL), HW_EAGAIN);
    CU_ASSERT(reaches(&seen.dumps, 1));
    CU_ASSERT_EQUAL(seen.status, 0);
    CU_ASSERT_EQUAL(seen.n_sas, 50);
    CU_ASSERT_EQUAL(seen.generation, 7);
    /* a dump under way ends with the connection */
    CU_ASSERT_EQUAL(dp_client_dump(client, on_dump, NULL, NULL), 0);
    fake_dataplane_drop(&dp);
    CU_ASSERT(reaches(&seen.dumps, 2));
    CU_ASSERT_EQUAL(seen.status, HW_ECLOSED);
    teardown();
}

static void test_events(void)
{
    setup();
    start_client();
    CU_ASSERT(reaches(&seen.connected, 1));
    struct hw_id link = id_new();
    CU_ASSERT_EQUAL(install(&link, 3), 0);
    CU_ASSERT(reaches(&seen.acks, 1));
    fake_dataplane_sa_event(&dp, DP_SA_FIRST_RX, &link, 3, 4, DP_DIR_IN);
    CU_ASSERT(reaches(&seen.events, 1));
    CU_ASSERT_EQUAL(seen.event.type, DP_SA_FIRST_RX);
    CU_ASSERT_EQUAL(seen.event.sa.epoch, 3);
    CU_ASSERT_EQUAL(seen.event.sa.tunnel, 4);
    teardown();
}

/* Messages that break the protocol end the connection, and the next one works. */
static void test_garbage(void)
{
    static const uint8_t junk[64] = {1, 2, 3};
    setup();
    start_client();
    CU_ASSERT(reaches(&seen.connected, 1));
    fake_dataplane_raw(&dp, junk, sizeof junk);
    CU_ASSERT(reaches(&seen.lost, 1));
    CU_ASSERT(reaches(&seen.connected, 2));
    struct {
        struct dp_header h;
        struct dp_ack a;
    } stray = {0};
    dp_header_init(&stray.h, DP_ACK, 4711, sizeof stray.a);
    fake_dataplane_raw(&dp, &stray, sizeof stray);
    CU_ASSERT(reaches(&seen.lost, 2));
    CU_ASSERT(reaches(&seen.connected, 3));
    teardown();
}

static void test_free_completes(void)
{
    setup();
    start_client();
    CU_ASSERT(reaches(&seen.connected, 1));
    struct hw_id link = id_new();
    dp.hold = true;
    CU_ASSERT_EQUAL(install(&link, 1), 0);
    dp_client_free(client);
    client = NULL;
    CU_ASSERT_EQUAL(seen.acks, 1);
    CU_ASSERT_EQUAL(seen.status, HW_ECLOSED);
    teardown();
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite s = CU_add_suite("dp_client", NULL, NULL);
    CU_add_test(s, "connects, checks, carries a request", test_connects);
    CU_add_test(s, "another user's socket is refused", test_wrong_user);
    CU_add_test(s, "refused requests", test_refusals);
    CU_add_test(s, "full socket buffer", test_full_buffer);
    CU_add_test(s, "lost connection, same boot, new boot", test_lost_and_back);
    CU_add_test(s, "dump", test_dump);
    CU_add_test(s, "events", test_events);
    CU_add_test(s, "garbage from the dataplane", test_garbage);
    CU_add_test(s, "free completes what is outstanding", test_free_completes);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed != 0;
}
