/* The edge of the FIB file (dp_proto.h): judges a complete image before anybody follows an index in
 * it. */
#include "common/dp_proto.h"
#include <stdbool.h>
#include <string.h>

#define WEIGHT_MAX    1000u
#define ROUTE_MTU_MIN 576u

/* Where each table of the image begins. Tables may be unaligned, so entries are copied out. */
struct image {
    struct dp_fib_header h;
    const uint8_t *links, *sources, *source_links, *routes, *sets, *members;
};

/* Lays the tables out one after the other; false unless they fill the image exactly. */
static bool lay_out(struct image *m, const uint8_t *data, size_t len)
{
    const uint8_t *p = data + sizeof m->h;
    size_t left = len - sizeof m->h;
    const struct {
        uint32_t n;
        size_t size;
        const uint8_t **at;
    } tables[] = {
        {m->h.n_links, sizeof(struct hw_id), &m->links},
        {m->h.n_sources, sizeof(struct dp_fib_source), &m->sources},
        {m->h.n_source_links, sizeof(uint32_t), &m->source_links},
        {m->h.n_routes, sizeof(struct dp_fib_route), &m->routes},
        {m->h.n_sets, sizeof(struct dp_fib_set), &m->sets},
        {m->h.n_members, sizeof(struct dp_fib_member), &m->members},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (tables[i].n > left / tables[i].size)
            return false;
        *tables[i].at = p;
        p += tables[i].n * tables[i].size;
        left -= tables[i].n * tables[i].size;
    }
    return left == 0;
}

/* first and count lie within a table of n entries. */
static bool range_ok(uint32_t first, uint32_t count, uint32_t n)
{
    return first <= n && count <= n - first;
}

/* A prefix of either family with everything beyond its length zero. */
static bool prefix_ok(const uint8_t addr[16], uint8_t family, uint8_t len)
{
    if ((family != 4 && family != 6) || len > (family == 4 ? 32 : 128))
        return false;
    for (unsigned i = len; i < 128; i++)
        if (addr[i / 8] >> (7 - i % 8) & 1)
            return false;
    return true;
}

static int check_links(const struct image *m, struct err *e)
{
    for (uint32_t i = 0; i < m->h.n_links; i++) {
        struct hw_id id;
        memcpy(&id, m->links + i * sizeof id, sizeof id);
        if (id_is_zero(&id))
            return err_set(e, HW_EPROTO, "fib: link %u has no id", i);
        for (uint32_t j = 0; j < i; j++)
            if (memcmp(m->links + j * sizeof id, &id, sizeof id) == 0)
                return err_set(e, HW_EPROTO, "fib: link %u stands twice", i);
    }
    for (uint32_t i = 0; i < m->h.n_source_links; i++) {
        uint32_t link;
        memcpy(&link, m->source_links + i * sizeof link, sizeof link);
        if (link >= m->h.n_links)
            return err_set(e, HW_EPROTO, "fib: source link %u names link %u of %u", i, link,
                           m->h.n_links);
    }
    return HW_OK;
}

static int check_sources(const struct image *m, struct err *e)
{
    for (uint32_t i = 0; i < m->h.n_sources; i++) {
        struct dp_fib_source s;
        memcpy(&s, m->sources + i * sizeof s, sizeof s);
        if (!prefix_ok(s.addr, s.family, s.len) || s.domain >= HW_DOMAINS_MAX || s.local > 1 ||
            s.reserved[0] || s.reserved[1] || s.reserved[2] ||
            !range_ok(s.links_first, s.links_count, m->h.n_source_links))
            return err_set(e, HW_EPROTO, "fib: source %u is not valid", i);
    }
    return HW_OK;
}

static int check_routes(const struct image *m, struct err *e)
{
    for (uint32_t i = 0; i < m->h.n_routes; i++) {
        struct dp_fib_route r;
        memcpy(&r, m->routes + i * sizeof r, sizeof r);
        bool mtu_ok = r.mtu == 0 || (r.mtu >= ROUTE_MTU_MIN && r.mtu <= UINT16_MAX);
        bool target_ok = r.kind == DP_ROUTE_SET ? r.set < m->h.n_sets
                                                : r.set == 0 && (r.kind == DP_ROUTE_LOCAL ||
                                                                 r.kind == DP_ROUTE_UNREACHABLE);
        if (!prefix_ok(r.addr, r.family, r.len) || r.domain >= HW_DOMAINS_MAX ||
            r.class_ >= DP_CLASS_COUNT || r.reserved || !mtu_ok || !target_ok)
            return err_set(e, HW_EPROTO, "fib: route %u is not valid", i);
    }
    return HW_OK;
}

static int check_sets(const struct image *m, struct err *e)
{
    for (uint32_t i = 0; i < m->h.n_sets; i++) {
        struct dp_fib_set s;
        memcpy(&s, m->sets + i * sizeof s, sizeof s);
        if (s.members_count < 1 || s.members_count > HW_FIB_SET_MEMBERS_MAX ||
            !range_ok(s.members_first, s.members_count, m->h.n_members))
            return err_set(e, HW_EPROTO, "fib: members of set %u", i);
        for (unsigned b = 0; b < HW_BUCKETS; b++)
            if (s.bucket[b] >= s.members_count && s.bucket[b] != DP_BUCKET_NONE)
                return err_set(e, HW_EPROTO, "fib: bucket %u of set %u", b, i);
    }
    for (uint32_t i = 0; i < m->h.n_members; i++) {
        struct dp_fib_member x;
        memcpy(&x, m->members + i * sizeof x, sizeof x);
        if (x.link >= m->h.n_links || x.weight < 1 || x.weight > WEIGHT_MAX)
            return err_set(e, HW_EPROTO, "fib: member %u is not valid", i);
    }
    return HW_OK;
}

int dp_fib_validate(const void *data, size_t len, struct err *e)
{
    struct image m = {0};
    if (len < sizeof m.h || len > DP_FIB_SIZE_MAX)
        return err_set(e, HW_EPROTO, "fib: image of %zu bytes", len);
    memcpy(&m.h, data, sizeof m.h);
    if (m.h.magic != DP_FIB_MAGIC || m.h.version != DP_PROTO_VERSION)
        return err_set(e, HW_EPROTO, "fib: not a FIB image of version %u", DP_PROTO_VERSION);
    if (m.h.n_links > HW_LINKS_MAX || m.h.n_sources > HW_FIB_SOURCES_MAX ||
        m.h.n_routes > HW_FIB_ROUTES_MAX || m.h.n_sets > HW_FIB_SETS_MAX ||
        m.h.n_members > HW_FIB_SETS_MAX * HW_FIB_SET_MEMBERS_MAX)
        return err_set(e, HW_ETOOBIG, "fib: more entries than allowed");
    if (!lay_out(&m, data, len))
        return err_set(e, HW_EPROTO, "fib: tables do not fill the image of %zu bytes", len);
    int rc = check_links(&m, e);
    if (rc == HW_OK)
        rc = check_sources(&m, e);
    if (rc == HW_OK)
        rc = check_routes(&m, e);
    if (rc == HW_OK)
        rc = check_sets(&m, e);
    return rc;
}
