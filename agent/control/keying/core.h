/* What all links of the gateway share: the services that keying.c owns and the modules below it
 * use. */
#ifndef HAWSER_AGENT_CONTROL_KEYING_CORE_H
#define HAWSER_AGENT_CONTROL_KEYING_CORE_H

#include "agent/control/dp_client.h"
#include "agent/control/keying/denied.h"
#include "agent/control/keying/keying.h"
#include "agent/control/keying/sa_policy.h"
#include "agent/control/keying/spi.h"
#include "common/evloop.h"
#include "common/tls.h"

struct keying_core {
    struct evloop *loop;
    struct dp_client *dp;
    struct sa_policy policy;
    const struct keying_handler *handler;
    void *arg;
    struct spi_pool *spis;
    struct tls_context *client, *server; /* NULL until there is an identity */
    bool dataplane;                      /* one is connected, and its SAs are known */
    struct dp_hello hello;               /* its boot id and suites */
    struct hw_id own;                    /* gateway id */
    struct denied denied;
    struct keying_counters counters;
};

static inline int64_t core_now_s(const struct keying_core *core)
{
    return core->handler->trusted_now(core->arg);
}

static inline bool core_clock_trusted(const struct keying_core *core)
{
    return core->handler->clock_trusted(core->arg);
}

/* What the dataplane says to have, and this program can make keys for. */
static inline uint32_t core_suites(const struct keying_core *core)
{
    return core->hello.suites & ESP_SUITES_KEYED;
}

#endif
