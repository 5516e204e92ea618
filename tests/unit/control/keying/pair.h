/*
 * Two gateways in one process: for each a fake dataplane, a dataplane client and a keying, joined
 * by real TLS over loopback in a network namespace of the test's own. `low` has the lower gateway
 * id.
 */
#ifndef HAWSER_TESTS_CONTROL_PAIR_H
#define HAWSER_TESTS_CONTROL_PAIR_H

#include "agent/control/keying/keying.h"
#include "tests/unit/control/keying/fake_dataplane.h"
#include "tests/unit/control/keying/test_pki.h"
#include <CUnit/Basic.h>

#define PAIR_LOW_ADDRESS  "127.0.0.2"
#define PAIR_HIGH_ADDRESS "127.0.0.3"
#define PAIR_LOW_PORT     4510
#define PAIR_HIGH_PORT    4610

struct node {
    const char *name;
    struct hw_id id;
    struct test_cert cert;
    struct fake_dataplane dp;
    struct dp_client *client;
    struct keying *keying;
    struct gateway_config config;
    struct config_peer peer;
    struct config_link link;
    struct keying_settings settings;
    int64_t clock_skew; /* added to trusted time */
    bool clock_alone;   /* no controller has vouched for it */
    bool late_config;   /* the config comes after the dataplane's dump */
    uint32_t mtu;
    unsigned changes;   /* link_changed calls */
    uint32_t announced; /* last MTU that the peer announced */
};

struct pair {
    struct evloop *loop;
    struct test_ca ca;
    struct node low, high;
    bool traffic; /* packets flow on every SA both ends have in common */
};

extern struct pair pair;

/* Runs the tests in a network namespace of their own with loopback up. The program's exit code: 77,
 * which CTest takes for skipped, where none may be made. */
int pair_run(const char *suite, CU_TestInfo *tests);

/* Makes everything but the agents; change configs and settings, then start. */
void pair_init(void);
void pair_done(void);
void node_start(struct node *n);
/* As an agent that crashes: its connections close, the dataplane stays. */
void node_stop(struct node *n);
void node_set_config(struct node *n);

/* Turns the loop until `met`, at most `seconds`. Returns whether it was met. */
bool pair_until(bool (*met)(void), unsigned seconds);
void pair_turns(unsigned n);
void pair_cut_tcp(void);

/* Both ends send by the same epoch, with equal keys in each direction. */
bool pair_keyed(void);
struct keying_link_status node_status(const struct node *n);
uint64_t node_epoch(const struct node *n);

#endif
