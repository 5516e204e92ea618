/* Gateway configs for tests, made through the real decoder. */
#ifndef HAWSER_TESTS_CONTROL_SAMPLE_CONFIG_H
#define HAWSER_TESTS_CONTROL_SAMPLE_CONFIG_H

#include "common/model/gateway_config.h"
#include <stdbool.h>
#include <stddef.h>

struct sample {
    const char *gateway;      /* id; NULL: SAMPLE_GATEWAY */
    unsigned remote_prefixes; /* 10.100.N.0/24, over all links */
    unsigned links;           /* to gw-p0, gw-p1 … at 192.0.2.(10 + i); link 0 may be IPv6 */
    unsigned tunnels;         /* of each; 0: 4 */
    unsigned interval_ms;     /* of liveness; 0: 1000 */
    unsigned port_base;       /* 0: 4510 */
    const char *local;        /* underlay address; NULL: 192.0.2.1 */
    const char *overlay6;     /* NULL: fd00:127::1 */
    bool transit;             /* what comes by a link may go on by another */
};

#define SAMPLE_GATEWAY "11111111-1111-4111-8111-111111111111"

/* Free the text. */
char *sample_json(const struct sample *s);
/* Aborts when the decoder refuses. */
struct gateway_config sample_config(const struct sample *s);
struct hw_id sample_link_id(unsigned i);

#endif
