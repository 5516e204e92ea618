#include "common/dp_proto.h"
#include <stdbool.h>
#include <string.h>

#define INNER_MAX    65521u
#define INTERVAL_MIN 10u
#define INTERVAL_MAX 60000u
#define MISSED_MAX   20u
#define SPI_MIN      256u
#define WINDOW_MIN   64u
#define WINDOW_MAX   8192u

void dp_header_init(struct dp_header *h, enum dp_type type, uint32_t seq, uint32_t body_len)
{
    *h = (struct dp_header){
        .version = DP_PROTO_VERSION,
        .type = (uint16_t)type,
        .length = (uint32_t)sizeof *h + body_len,
        .seq = seq,
    };
}

struct ipaddr dp_addr_to_ip(const struct dp_addr *a)
{
    struct ipaddr ip = {.family = a->family};
    memcpy(ip.b, a->b, sizeof ip.b);
    return ip;
}

struct dp_addr dp_addr_from_ip(const struct ipaddr *a)
{
    struct dp_addr d = {.family = a->family};
    memcpy(d.b, a->b, ipaddr_bits(a) / 8);
    return d;
}

static bool all_zero(const void *p, size_t len)
{
    const uint8_t *b = p;
    for (size_t i = 0; i < len; i++)
        if (b[i])
            return false;
    return true;
}

/* Family 0, 4 or 6 with every byte that means nothing zero. */
static bool addr_ok(const struct dp_addr *a)
{
    size_t used = a->family == 6 ? 16 : a->family == 4 ? 4 : 0;
    return (a->family == 0 || used > 0) && all_zero(a->reserved, sizeof a->reserved) &&
           all_zero(a->b + used, sizeof a->b - used);
}

static bool addr_none_or(const struct dp_addr *a, unsigned family)
{
    return addr_ok(a) && (a->family == 0 || a->family == family);
}

static bool text_ends(const char *s, size_t cap)
{
    return memchr(s, '\0', cap) != NULL;
}

/*
 * One check per body. Each gets an aligned copy of the body and returns NULL, or what is wrong.
 */
static const char *check_hello(const void *body)
{
    const struct dp_hello *b = body;
    if (id_is_zero(&b->boot))
        return "no boot id";
    if (b->workers < 1 || b->workers > HW_WORKERS_MAX)
        return "number of workers";
    if (b->provider != DP_PROVIDER_IPSEC_MB && b->provider != DP_PROVIDER_LIBCRYPTO)
        return "provider";
    if (!text_ends(b->build, sizeof b->build))
        return "build text has no end";
    return b->reserved0 || b->reserved1 ? "reserved bytes" : NULL;
}

static const char *check_ack(const void *body)
{
    const struct dp_ack *b = body;
    if (b->status > 0)
        return "status";
    if (!text_ends(b->text, sizeof b->text))
        return "text has no end";
    return b->reserved ? "reserved bytes" : NULL;
}

static const char *check_tun(const void *body)
{
    const struct dp_attach_tun *b = body;
    if (b->queues < 1 || b->queues > HW_WORKERS_MAX || b->queue >= b->queues)
        return "queue number";
    return b->mtu < HW_LINK_MTU_MIN || b->mtu > UINT16_MAX ? "mtu" : NULL;
}

static const char *check_udp(const void *body)
{
    const struct dp_attach_udp *b = body;
    if (b->family != 4 && b->family != 6)
        return "family";
    if (b->port_index >= HW_PORTS_PER_GATEWAY || b->port == 0)
        return "port";
    return b->reserved ? "reserved bytes" : NULL;
}

static const char *check_node(const void *body)
{
    const struct dp_node_set *b = body;
    if (id_is_zero(&b->gateway))
        return "no gateway id";
    return addr_none_or(&b->overlay4, 4) && addr_none_or(&b->overlay6, 6) ? NULL
                                                                          : "overlay address";
}

static const char *check_link(const void *body)
{
    const struct dp_link_set *b = body;
    if (id_is_zero(&b->link) || id_is_zero(&b->peer))
        return "no link or peer id";
    if (!addr_ok(&b->local) || !addr_ok(&b->remote) || b->local.family == 0 ||
        b->local.family != b->remote.family)
        return "outer addresses";
    if (!addr_none_or(&b->peer_overlay4, 4) || !addr_none_or(&b->peer_overlay6, 6) ||
        (b->peer_overlay4.family == 0 && b->peer_overlay6.family == 0))
        return "peer's overlay addresses";
    if (b->remote_port_base == 0 || b->remote_port_base > UINT16_MAX - HW_PORTS_PER_GATEWAY + 1 ||
        b->port_offset >= HW_PORTS_PER_GATEWAY)
        return "ports";
    if (b->tunnels < 1 || b->tunnels > HW_TUNNELS_PER_LINK_MAX)
        return "number of tunnels";
    if (b->class_ == DP_CLASS_SITE || b->class_ >= DP_CLASS_COUNT)
        return "class";
    if (b->enabled > 1 || b->remote_fixed > 1 || b->reserved)
        return "flags";
    if (b->missed < 1 || b->missed > MISSED_MAX || b->interval_ms < INTERVAL_MIN ||
        b->interval_ms > INTERVAL_MAX)
        return "liveness";
    return b->mtu < HW_LINK_MTU_MIN || b->mtu > INNER_MAX ? "mtu" : NULL;
}

static const char *check_link_remove(const void *body)
{
    const struct dp_link_remove *b = body;
    return id_is_zero(&b->link) ? "no link id" : NULL;
}

/* The entries of an SA_INSTALL: ranges, and each tunnel and SPI once. */
static const char *check_sa_entries(const struct dp_sa_install *b, const struct esp_suite *suite)
{
    for (unsigned i = 0; i < b->count; i++) {
        const struct dp_sa *sa = &b->sa[i];
        if (sa->tunnel >= HW_TUNNELS_PER_LINK_MAX || sa->spi < SPI_MIN || sa->reserved)
            return "tunnel or SPI";
        if (!all_zero(sa->key + suite->key_len, sizeof sa->key - suite->key_len))
            return "key longer than the suite's";
        for (unsigned j = 0; j < i; j++)
            if (b->sa[j].tunnel == sa->tunnel || b->sa[j].spi == sa->spi)
                return "a tunnel or SPI stands twice";
    }
    return NULL;
}

static bool limits_ok(uint64_t soft, uint64_t hard)
{
    return soft == 0 || hard == 0 || soft <= hard;
}

static bool cert_ok(const struct dp_peer_cert *c)
{
    return c->serial_len <= sizeof c->serial && all_zero(c->reserved, sizeof c->reserved);
}

static const char *check_sa_install(const void *body)
{
    const struct dp_sa_install *b = body;
    const struct esp_suite *suite = esp_suite_by_id(b->suite);
    if (id_is_zero(&b->link) || id_is_zero(&b->peer_boot))
        return "no link or boot id";
    if (!cert_ok(&b->peer_cert))
        return "peer's certificate";
    if (b->epoch == 0)
        return "epoch";
    if (!suite)
        return "suite";
    if (b->direction > DP_DIR_OUT || b->esn > 1 || b->reserved)
        return "direction or flags";
    bool window_ok =
        b->window >= WINDOW_MIN && b->window <= WINDOW_MAX && (b->window & (b->window - 1)) == 0;
    if (!window_ok && !(b->direction == DP_DIR_OUT && b->window == 0))
        return "replay window";
    if (!limits_ok(b->soft_bytes, b->hard_bytes) || !limits_ok(b->soft_packets, b->hard_packets))
        return "soft limit beyond the hard one";
    return check_sa_entries(b, suite);
}

static const char *check_sa_switch(const void *body)
{
    const struct dp_sa_switch *b = body;
    return id_is_zero(&b->link) || b->epoch == 0 ? "link id or epoch" : NULL;
}

static const char *check_sa_retire(const void *body)
{
    const struct dp_sa_retire *b = body;
    if (id_is_zero(&b->link))
        return "no link id";
    if (b->in > 1 || b->out > 1 || b->in + b->out == 0)
        return "direction";
    return all_zero(b->reserved, sizeof b->reserved) ? NULL : "reserved bytes";
}

static const char *check_fib_commit(const void *body)
{
    const struct dp_fib_commit *b = body;
    if (b->generation == 0)
        return "generation";
    return b->size < sizeof(struct dp_fib_header) || b->size > DP_FIB_SIZE_MAX ? "size" : NULL;
}

static const char *check_tunnel_event(const void *body)
{
    const struct dp_tunnel_event *b = body;
    if (b->tunnel >= HW_TUNNELS_PER_LINK_MAX)
        return "tunnel";
    return b->state > DP_TUNNEL_DOWN || b->reason > DP_REASON_DISABLED ? "state or reason" : NULL;
}

static const char *check_sa_event(const void *body)
{
    const struct dp_sa_event *b = body;
    if (b->tunnel >= HW_TUNNELS_PER_LINK_MAX || b->direction > DP_DIR_OUT || b->epoch == 0)
        return "tunnel, direction or epoch";
    return b->reserved ? "reserved bytes" : NULL;
}

static const char *check_peer_moved(const void *body)
{
    const struct dp_peer_moved *b = body;
    if (!addr_ok(&b->remote) || b->remote.family == 0 || b->port == 0)
        return "address or port";
    return b->tunnel >= HW_TUNNELS_PER_LINK_MAX ? "tunnel" : NULL;
}

static const char *check_dump_link(const void *body)
{
    const struct dp_dump_link *b = body;
    for (unsigned i = 0; i < HW_TUNNELS_PER_LINK_MAX; i++)
        if (b->state[i] > DP_TUNNEL_DOWN)
            return "tunnel state";
    return all_zero(b->reserved, sizeof b->reserved) ? check_link(&b->set) : "reserved bytes";
}

static const char *check_dump_sa(const void *body)
{
    const struct dp_dump_sa *b = body;
    if (b->tunnel >= HW_TUNNELS_PER_LINK_MAX || b->spi < SPI_MIN || b->epoch == 0)
        return "tunnel, SPI or epoch";
    if (b->direction > DP_DIR_OUT || b->active > 1 || b->esn > 1 || !esp_suite_by_id(b->suite))
        return "direction, suite or flags";
    if (!cert_ok(&b->peer_cert))
        return "peer's certificate";
    return all_zero(b->reserved, sizeof b->reserved) ? NULL : "reserved bytes";
}

static const char *check_nothing(const void *body)
{
    (void)body;
    return NULL;
}

enum seq_rule { SEQ_SET, SEQ_ZERO };

struct message {
    const char *name;
    const char *(*check)(const void *body); /* NULL: no such type */
    size_t body_len;
    bool to_dataplane;
    enum seq_rule seq;
    int n_fds;
};

static const struct message messages[] = {
    [DP_ATTACH_TUN] = {"attach-tun", check_tun, sizeof(struct dp_attach_tun), true, SEQ_SET, 1},
    [DP_ATTACH_UDP] = {"attach-udp", check_udp, sizeof(struct dp_attach_udp), true, SEQ_SET, 1},
    [DP_NODE_SET] = {"node-set", check_node, sizeof(struct dp_node_set), true, SEQ_SET, 0},
    [DP_LINK_SET] = {"link-set", check_link, sizeof(struct dp_link_set), true, SEQ_SET, 0},
    [DP_LINK_REMOVE] = {"link-remove", check_link_remove, sizeof(struct dp_link_remove), true,
                        SEQ_SET, 0},
    [DP_SA_INSTALL] = {"sa-install", check_sa_install, sizeof(struct dp_sa_install), true, SEQ_SET,
                       0},
    [DP_SA_SWITCH] = {"sa-switch", check_sa_switch, sizeof(struct dp_sa_switch), true, SEQ_SET, 0},
    [DP_SA_RETIRE] = {"sa-retire", check_sa_retire, sizeof(struct dp_sa_retire), true, SEQ_SET, 0},
    [DP_FIB_COMMIT] = {"fib-commit", check_fib_commit, sizeof(struct dp_fib_commit), true, SEQ_SET,
                       1},
    [DP_DUMP] = {"dump", check_nothing, 0, true, SEQ_SET, 0},
    [DP_QUIESCE] = {"quiesce", check_nothing, 0, true, SEQ_SET, 0},
    [DP_HELLO] = {"hello", check_hello, sizeof(struct dp_hello), false, SEQ_ZERO, 1},
    [DP_ACK] = {"ack", check_ack, sizeof(struct dp_ack), false, SEQ_SET, 0},
    [DP_TUNNEL_STATE] = {"tunnel-state", check_tunnel_event, sizeof(struct dp_tunnel_event), false,
                         SEQ_ZERO, 0},
    [DP_SA_FIRST_RX] = {"sa-first-rx", check_sa_event, sizeof(struct dp_sa_event), false, SEQ_ZERO,
                        0},
    [DP_SA_SOFT_LIMIT] = {"sa-soft-limit", check_sa_event, sizeof(struct dp_sa_event), false,
                          SEQ_ZERO, 0},
    [DP_PEER_MOVED] = {"peer-moved", check_peer_moved, sizeof(struct dp_peer_moved), false,
                       SEQ_ZERO, 0},
    [DP_SA_EXPIRED] = {"sa-expired", check_sa_event, sizeof(struct dp_sa_event), false, SEQ_ZERO,
                       0},
    [DP_DUMP_TUN] = {"dump-tun", check_tun, sizeof(struct dp_dump_tun), false, SEQ_SET, 0},
    [DP_DUMP_UDP] = {"dump-udp", check_udp, sizeof(struct dp_attach_udp), false, SEQ_SET, 0},
    [DP_DUMP_NODE] = {"dump-node", check_node, sizeof(struct dp_node_set), false, SEQ_SET, 0},
    [DP_DUMP_LINK] = {"dump-link", check_dump_link, sizeof(struct dp_dump_link), false, SEQ_SET, 0},
    [DP_DUMP_SA] = {"dump-sa", check_dump_sa, sizeof(struct dp_dump_sa), false, SEQ_SET, 0},
    [DP_DUMP_FIB] = {"dump-fib", check_nothing, sizeof(struct dp_dump_fib), false, SEQ_SET, 0},
    [DP_DUMP_END] = {"dump-end", check_nothing, 0, false, SEQ_SET, 0},
};

/* One layout serves both messages: their bodies are checked by the same function. */
_Static_assert(sizeof(struct dp_dump_tun) == sizeof(struct dp_attach_tun),
               "dump-tun differs from attach-tun");

static const struct message *message_of(unsigned type)
{
    if (type >= sizeof messages / sizeof messages[0] || !messages[type].check)
        return NULL;
    return &messages[type];
}

const char *dp_type_name(unsigned type)
{
    const struct message *m = message_of(type);
    return m ? m->name : "unknown";
}

/* The length that the body must have; an SA_INSTALL is as long as its own count says. */
static bool body_len_ok(const struct message *m, unsigned type, const uint8_t *body, size_t len)
{
    if (type != DP_SA_INSTALL)
        return len == m->body_len;
    if (len < dp_sa_install_len(1))
        return false;
    uint8_t count = body[offsetof(struct dp_sa_install, count)];
    return count >= 1 && count <= HW_TUNNELS_PER_LINK_MAX && len == dp_sa_install_len(count);
}

int dp_validate(const void *msg, size_t len, int n_fds, int to_dataplane, struct err *e)
{
    struct dp_header h;
    if (len < sizeof h || len > DP_MSG_MAX)
        return err_set(e, HW_EPROTO, "message of %zu bytes", len);
    memcpy(&h, msg, sizeof h);
    if (h.version != DP_PROTO_VERSION)
        return err_set(e, HW_EPROTO, "message version %u, not %u", h.version, DP_PROTO_VERSION);
    const struct message *m = message_of(h.type);
    if (!m || m->to_dataplane != (to_dataplane != 0))
        return err_set(e, HW_EPROTO, "message type %u does not belong here", h.type);
    const uint8_t *raw = (const uint8_t *)msg + sizeof h;
    size_t body_len = len - sizeof h;
    if (h.length != len || !body_len_ok(m, h.type, raw, body_len))
        return err_set(e, HW_EPROTO, "%s: length %u in a message of %zu bytes", m->name, h.length,
                       len);
    if (h.reserved || (h.seq == 0) != (m->seq == SEQ_ZERO))
        return err_set(e, HW_EPROTO, "%s: sequence number %u", m->name, h.seq);
    if (n_fds != m->n_fds)
        return err_set(e, HW_EPROTO, "%s: %d fds, not %d", m->name, n_fds, m->n_fds);
    /* Keys pass through this copy: it is wiped on every path. */
    union {
        uint64_t align;
        uint8_t b[sizeof(struct dp_sa_install)];
    } body;
    memcpy(body.b, raw, body_len);
    const char *why = m->check(body.b);
    explicit_bzero(body.b, body_len);
    return why ? err_set(e, HW_EPROTO, "%s: bad %s", m->name, why) : HW_OK;
}

const char *dp_tunnel_state_name(unsigned state)
{
    static const char *const names[] = {
        [DP_TUNNEL_NO_SA] = "no_sa",
        [DP_TUNNEL_PROBING] = "probing",
        [DP_TUNNEL_UP] = "up",
        [DP_TUNNEL_DOWN] = "down",
    };
    return state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

const char *dp_tunnel_reason_name(unsigned reason)
{
    static const char *const names[] = {
        [DP_REASON_NONE] = "none",           [DP_REASON_ANSWERED] = "answered",
        [DP_REASON_NO_ANSWER] = "no_answer", [DP_REASON_NO_SA] = "no_sa",
        [DP_REASON_PEER_BOOT] = "peer_boot", [DP_REASON_DISABLED] = "disabled",
    };
    return reason < sizeof names / sizeof names[0] ? names[reason] : "unknown";
}

const char *dp_provider_name(unsigned provider)
{
    return provider == DP_PROVIDER_IPSEC_MB    ? "ipsec-mb"
           : provider == DP_PROVIDER_LIBCRYPTO ? "libcrypto"
                                               : "unknown";
}
