/*
 * ESP packet -> inner packet: parse, find the SA, check the replay window, verify and decrypt,
 * commit, check padding (RFC 4303 section 3.4).
 */
#ifndef HAWSER_DATAPLANE_ESP_IN_H
#define HAWSER_DATAPLANE_ESP_IN_H

#include "agent/dataplane/sa_table.h"
#include "common/drop_reason.h"
#include <stddef.h>
#include <stdint.h>

struct esp_opened {
    uint8_t *data; /* the inner packet */
    size_t len;
    uint8_t next_header; /* IP_PROTO_IPV4_IN or IP_PROTO_IPV6_IN */
    uint64_t seq;
};

/* First step: what kind of datagram is this, and whose? On DROP_NONE *sa is the SA. */
enum drop_reason esp_in_find(const struct sa_table *t, const uint8_t *dgram, size_t len,
                             struct sa **sa);

/* Second step: opens the datagram. The text goes to `dst`: dgram + ESP_HEAD opens in place; a lower
 * address lets the payload land right behind an earlier packet's (the caller saves what the header
 * overwrites). On DROP_ESP_AUTH the bytes there are garbage. Sets SA_EVENT_FIRST at the first good
 * packet; counts failures and replays in the SA. DROP_ESP_DUMMY: authentic, to be ignored. */
enum drop_reason esp_in_open(struct sa *sa, uint8_t *dgram, size_t len, uint8_t *dst,
                             struct esp_opened *out);

#endif
