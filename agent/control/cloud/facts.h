/*
 * What a cloud's metadata service says of this machine, checked: where it runs, which public
 * address is translated to which of its own, and the MTU that the cloud's network carries. Kept on
 * disk, so that a service that is away at a start does not move endpoints.
 */
#ifndef HAWSER_AGENT_CONTROL_CLOUD_FACTS_H
#define HAWSER_AGENT_CONTROL_CLOUD_FACTS_H

#include "common/err.h"
#include "common/ipaddr.h"
#include "common/model/node.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOUD_TRANSLATIONS_MAX 16
#define CLOUD_MTUS_MAX         16

struct json_at;

/* 1:1 translation: others reach `inside`, which the machine has, at `outside`. */
struct cloud_translation {
    struct ipaddr inside, outside;
};

struct cloud_mtu {
    struct ipaddr address; /* of the interface */
    uint32_t mtu;
};

struct cloud_facts {
    struct node_cloud where;
    struct cloud_translation translations[CLOUD_TRANSLATIONS_MAX];
    size_t n_translations;
    struct cloud_mtu mtus[CLOUD_MTUS_MAX];
    size_t n_mtus;
};

/* A region's or size's name: 1–63 letters, digits, '.', '_', '-'; white space around is ignored. */
int cloud_facts_name(const char *text, size_t len, char out[HW_NAME_MAX + 1], struct err *e);
/* A member of that kind. */
int cloud_facts_get_name(const struct json_at *at, const char *key, char out[HW_NAME_MAX + 1],
                         struct err *e);
/* Empty texts are no addresses and are passed over; HW_EINVAL for what is neither. */
int cloud_facts_translate(struct cloud_facts *f, const char *inside, const char *outside,
                          struct err *e);
bool cloud_facts_equal(const struct cloud_facts *a, const struct cloud_facts *b);

/* As kept on disk. NULL when out of memory. */
char *cloud_facts_encode(const struct cloud_facts *f, size_t *len);
int cloud_facts_decode(const char *json, size_t len, struct cloud_facts *out, struct err *e);

#endif
