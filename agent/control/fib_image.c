#include "agent/control/fib_image.h"
#include "common/dp_proto.h"
#include <stdlib.h>
#include <string.h>

/* Appends to an image whose size was computed beforehand. */
static void put(unsigned char **at, const void *data, size_t len)
{
    memcpy(*at, data, len);
    *at += len;
}

static void put_links(unsigned char **at, const struct gateway_config *c)
{
    for (size_t i = 0; i < c->n_links; i++)
        put(at, &c->links[i].id, sizeof c->links[i].id);
}

static void put_sources(unsigned char **at, const struct gateway_config *c)
{
    uint32_t first = 0;
    for (size_t i = 0; i < c->n_sources; i++) {
        const struct config_source *s = &c->sources[i];
        struct dp_fib_source d = {.family = s->prefix.addr.family,
                                  .len = s->prefix.len,
                                  .domain = (uint16_t)s->domain,
                                  .local = s->local,
                                  .links_first = first,
                                  .links_count = (uint32_t)s->n_links};
        memcpy(d.addr, s->prefix.addr.b, sizeof d.addr);
        put(at, &d, sizeof d);
        first += (uint32_t)s->n_links;
    }
    for (size_t i = 0; i < c->n_sources; i++)
        if (c->sources[i].n_links)
            put(at, c->sources[i].links, c->sources[i].n_links * sizeof *c->sources[i].links);
}

static void put_routes(unsigned char **at, const struct gateway_config *c, const uint32_t *limits)
{
    for (size_t i = 0; i < c->n_routes; i++) {
        const struct config_route *r = &c->routes[i];
        struct dp_fib_route d = {.family = r->prefix.addr.family,
                                 .len = r->prefix.len,
                                 .domain = (uint16_t)r->domain,
                                 .class_ = (uint8_t)r->ingress,
                                 .kind = (uint8_t)r->target,
                                 .set = r->target == ROUTE_SET ? r->set : 0,
                                 .mtu = limits[i]};
        memcpy(d.addr, r->prefix.addr.b, sizeof d.addr);
        put(at, &d, sizeof d);
    }
}

static void put_sets(unsigned char **at, const struct gateway_config *c)
{
    uint32_t first = 0;
    for (size_t i = 0; i < c->n_sets; i++) {
        struct dp_fib_set d = {.members_first = first,
                               .members_count = (uint32_t)c->sets[i].n_members};
        memcpy(d.bucket, c->sets[i].bucket, sizeof d.bucket);
        put(at, &d, sizeof d);
        first += d.members_count;
    }
    for (size_t i = 0; i < c->n_sets; i++)
        for (size_t k = 0; k < c->sets[i].n_members; k++) {
            struct dp_fib_member d = {c->sets[i].members[k].link, c->sets[i].members[k].weight};
            put(at, &d, sizeof d);
        }
}

int fib_image_make(const struct gateway_config *c, const uint32_t *limits, uint64_t generation,
                   unsigned char **image, size_t *len, struct err *e)
{
    size_t source_links = 0, members = 0;
    for (size_t i = 0; i < c->n_sources; i++)
        source_links += c->sources[i].n_links;
    for (size_t i = 0; i < c->n_sets; i++)
        members += c->sets[i].n_members;
    size_t size = sizeof(struct dp_fib_header) + c->n_links * sizeof(struct hw_id) +
                  c->n_sources * sizeof(struct dp_fib_source) + source_links * sizeof(uint32_t) +
                  c->n_routes * sizeof(struct dp_fib_route) +
                  c->n_sets * sizeof(struct dp_fib_set) + members * sizeof(struct dp_fib_member);
    if (size > DP_FIB_SIZE_MAX)
        return err_set(e, HW_ETOOBIG, "forwarding table of %zu bytes is larger than %u", size,
                       DP_FIB_SIZE_MAX);
    unsigned char *buf = malloc(size);
    if (!buf)
        return err_set(e, HW_ENOMEM, "out of memory");
    struct dp_fib_header h = {.magic = DP_FIB_MAGIC,
                              .version = DP_PROTO_VERSION,
                              .generation = generation,
                              .n_links = (uint32_t)c->n_links,
                              .n_sources = (uint32_t)c->n_sources,
                              .n_source_links = (uint32_t)source_links,
                              .n_routes = (uint32_t)c->n_routes,
                              .n_sets = (uint32_t)c->n_sets,
                              .n_members = (uint32_t)members};
    unsigned char *at = buf;
    put(&at, &h, sizeof h);
    put_links(&at, c);
    put_sources(&at, c);
    put_routes(&at, c, limits);
    put_sets(&at, c);
    *image = buf;
    *len = size;
    return 0;
}

bool fib_image_same(const unsigned char *a, size_t a_len, const unsigned char *b, size_t b_len)
{
    if (!a || !b || a_len != b_len || a_len < sizeof(struct dp_fib_header))
        return false;
    struct dp_fib_header x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    x.generation = y.generation;
    return memcmp(&x, &y, sizeof x) == 0 &&
           memcmp(a + sizeof x, b + sizeof x, a_len - sizeof x) == 0;
}
