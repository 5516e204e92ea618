#include "common/clock.h"
#include "tests/unit/controller/http_fixture.h"
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 3 /* of each kind */

static const char plain[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
static const char park[] = "GET /park HTTP/1.1\r\nHost: x\r\n\r\n";

static bool all_parked(void)
{
    return counters().parked == CLIENTS;
}

static void park_clients(struct client c[CLIENTS])
{
    ended = park_overs = 0;
    for (int i = 0; i < CLIENTS; i++) {
        CU_ASSERT_TRUE_FATAL(client_open(&c[i], HTTP_PEOPLE, NULL, NULL));
        client_send(&c[i], park);
    }
    wait_for(all_parked);
}

/* Each has its whole answer, and the end after it. */
static void parked_are_answered(struct client c[CLIENTS])
{
    char out[2048];
    CU_ASSERT_EQUAL(park_overs, CLIENTS);
    CU_ASSERT_EQUAL(ended, CLIENTS);
    for (int i = 0; i < CLIENTS; i++) {
        CU_ASSERT_EQUAL(client_read(&c[i], out, sizeof out), 200);
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "\r\n\r\nover"));
        CU_ASSERT_TRUE(SSL_read(c[i].ssl, out, sizeof out) <= 0);
        client_close(&c[i]);
    }
}

/* Stopping answers what is parked; the library would abort the process otherwise. */
static void test_parked(void)
{
    struct client c[CLIENTS];
    start(10, 16);
    park_clients(c);
    stop();
    parked_are_answered(c);
    http_server_stop(NULL);
}

/* --- under fire --- */

struct attacker {
    pthread_t thread;
    atomic_bool over;
    atomic_uint done; /* rounds */
    enum http_listener listener;
};

/* Comes and goes without a word, by RST every second time; asks and leaves. */
static void *attack(void *arg)
{
    struct attacker *a = arg;
    char out[2048];
    while (!a->over) {
        struct client c = {.fd = tcp_try(ports[a->listener])};
        struct linger hard = {.l_onoff = (int)(a->done % 2)};
        if (c.fd >= 0)
            (void)setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        client_close(&c);
        if (a->done % 4 == 0) {
            if (client_open(&c, a->listener, NULL, NULL) &&
                SSL_write(c.ssl, plain, sizeof plain - 1) > 0)
                (void)client_read(&c, out, sizeof out);
            client_close(&c);
        }
        a->done++;
    }
    return NULL;
}

static void attack_starts(struct attacker a[HTTP_LISTENERS])
{
    for (int l = 0; l < HTTP_LISTENERS; l++) {
        a[l] = (struct attacker){.listener = (enum http_listener)l};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&a[l].thread, NULL, attack, &a[l]), 0);
    }
    uint64_t until = clock_mono_ns() + WAIT_MS * NS_PER_MS;
    while ((a[0].done < 8 || a[1].done < 8) && clock_mono_ns() < until)
        (void)poll(NULL, 0, 1);
}

static void attack_ends(struct attacker a[HTTP_LISTENERS])
{
    for (int l = 0; l < HTTP_LISTENERS; l++) {
        a[l].over = true;
        CU_ASSERT_EQUAL(pthread_join(a[l].thread, NULL), 0);
    }
}

/* New connections on both listeners, idle and parked ones, while the server stops: what is parked
 * is answered, what is idle ends, and nothing listens afterwards. */
static void test_under_fire(void)
{
    int rounds = getenv("HAWSER_LONG") ? 500 : 15;
    char out[2048];
    for (int round = 0; round < rounds; round++) {
        struct client parked[CLIENTS], idle[CLIENTS];
        struct attacker a[HTTP_LISTENERS];
        start(10, 64);
        for (int i = 0; i < CLIENTS; i++) {
            CU_ASSERT_TRUE_FATAL(client_open(&idle[i], HTTP_AGENTS, NULL, NULL));
            CU_ASSERT_EQUAL(ask(&idle[i], plain, out, sizeof out), 200);
        }
        park_clients(parked);
        attack_starts(a);
        stop();
        attack_ends(a);
        parked_are_answered(parked);
        for (int i = 0; i < CLIENTS; i++) {
            CU_ASSERT_EQUAL(client_read(&idle[i], out, sizeof out), 0);
            client_close(&idle[i]);
        }
        CU_ASSERT_EQUAL(tcp_try(ports[HTTP_PEOPLE]), -1);
        CU_ASSERT_EQUAL(tcp_try(ports[HTTP_AGENTS]), -1);
    }
}

static CU_TestInfo tests[] = {
    {"parked requests are answered", test_parked},
    {"under fire", test_under_fire},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return http_suite_run("http stop", tests);
}
