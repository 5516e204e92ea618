#include "agent/control/keying/message.h"
#include "common/bytes.h"
#include <assert.h>
#include <string.h>

/* Fixed part of OFFER and ACCEPT: four bytes, four ids, epoch, window, mtu, features. */
#define OFFER_FIXED (4u + 4u * 16u + 8u + 4u + 4u + 8u)

/* One row a type: the lengths its body may have. */
static const struct {
    const char *name;
    uint16_t min, max;
} types[] = {
    [MESSAGE_OFFER] = {"OFFER", OFFER_FIXED + 1 + 4,
                       OFFER_FIXED + MESSAGE_SUITES_MAX + 4 * HW_TUNNELS_PER_LINK_MAX},
    [MESSAGE_ACCEPT] = {"ACCEPT", OFFER_FIXED + 1 + 4,
                        OFFER_FIXED + 1 + 4 * HW_TUNNELS_PER_LINK_MAX},
    [MESSAGE_READY] = {"READY", 24, 24},
    [MESSAGE_DELETE] = {"DELETE", 24, 24},
    [MESSAGE_WANT] = {"WANT", 17, 17},
    [MESSAGE_MTU] = {"MTU", 38, 38},
    [MESSAGE_HELLO] = {"HELLO", 28, 28},
    [MESSAGE_REFUSE] = {"REFUSE", 18, 18 + MESSAGE_REFUSE_TEXT},
};

static bool known(unsigned type)
{
    return type < sizeof types / sizeof types[0] && types[type].name;
}

const char *message_name(unsigned type)
{
    return known(type) ? types[type].name : "unknown";
}

static void put_id(struct byte_writer *w, const struct hw_id *id)
{
    byte_put(w, id->b, sizeof id->b);
}

static struct hw_id get_id(struct byte_reader *r)
{
    struct hw_id id = {0};
    const uint8_t *p = byte_take(r, sizeof id.b);
    if (p)
        memcpy(id.b, p, sizeof id.b);
    return id;
}

static void put_offer(struct byte_writer *w, const struct message *m)
{
    const struct message_offer *o = &m->offer;
    byte_put8(w, MESSAGE_VERSION);
    byte_put8(w, o->esn ? 1 : 0);
    byte_put8(w, o->n);
    byte_put8(w, o->n_suites);
    put_id(w, &m->link);
    put_id(w, &o->own);
    put_id(w, &o->peer);
    put_id(w, &o->boot);
    byte_put64(w, o->epoch);
    byte_put32(w, o->window);
    byte_put32(w, o->mtu);
    byte_put64(w, o->features);
    byte_put(w, o->suites, o->n_suites);
    for (unsigned i = 0; i < o->n; i++)
        byte_put32(w, o->spi[i]);
}

static void put_mtu(struct byte_writer *w, const struct message *m)
{
    put_id(w, &m->link);
    byte_put32(w, m->mtu.mtu);
    byte_put8(w, m->mtu.prefix.addr.family);
    byte_put8(w, m->mtu.prefix.len);
    byte_put(w, m->mtu.prefix.addr.b, sizeof m->mtu.prefix.addr.b);
}

size_t message_encode(const struct message *m, uint8_t out[MESSAGE_MAX])
{
    struct byte_writer w = byte_writer_init(out + MESSAGE_HEADER_LEN, MESSAGE_BODY_MAX);
    switch (m->type) {
    case MESSAGE_OFFER:
    case MESSAGE_ACCEPT:
        put_offer(&w, m);
        break;
    case MESSAGE_READY:
    case MESSAGE_DELETE:
    case MESSAGE_HELLO:
        put_id(&w, &m->link);
        byte_put64(&w, m->epoch);
        if (m->type == MESSAGE_HELLO)
            byte_put32(&w, m->hello_mtu);
        break;
    case MESSAGE_WANT:
        put_id(&w, &m->link);
        byte_put8(&w, m->reason);
        break;
    case MESSAGE_MTU:
        put_mtu(&w, m);
        break;
    case MESSAGE_REFUSE:
        put_id(&w, &m->link);
        byte_put16(&w, m->refuse.code);
        byte_put(&w, m->refuse.text, strnlen(m->refuse.text, MESSAGE_REFUSE_TEXT));
        break;
    }
    assert(w.ok);
    store_be16(out, (uint16_t)m->type);
    store_be16(out + 2, (uint16_t)w.used);
    return MESSAGE_HEADER_LEN + w.used;
}

int message_frame(const uint8_t header[MESSAGE_HEADER_LEN], size_t *total, struct err *e)
{
    unsigned type = load_be16(header);
    unsigned len = load_be16(header + 2);
    if (!known(type))
        return err_set(e, HW_EPROTO, "message of unknown type %u", type);
    if (len < types[type].min || len > types[type].max)
        return err_set(e, HW_EPROTO, "%s of %u bytes", types[type].name, len);
    *total = MESSAGE_HEADER_LEN + len;
    return 0;
}

static int check_suites(const struct message_offer *o, struct err *e)
{
    for (unsigned i = 0; i < o->n_suites; i++) {
        if (o->suites[i] == 0)
            return err_set(e, HW_EPROTO, "suite 0");
        for (unsigned j = 0; j < i; j++)
            if (o->suites[j] == o->suites[i])
                return err_set(e, HW_EPROTO, "suite %u twice", o->suites[i]);
    }
    return 0;
}

/* SPIs up to 255 are reserved (RFC 4303 section 2.1). */
static int check_spis(const struct message_offer *o, struct err *e)
{
    for (unsigned i = 0; i < o->n; i++) {
        if (o->spi[i] < 256)
            return err_set(e, HW_EPROTO, "reserved SPI %u", o->spi[i]);
        for (unsigned j = 0; j < i; j++)
            if (o->spi[j] == o->spi[i])
                return err_set(e, HW_EPROTO, "one SPI for two tunnels");
    }
    return 0;
}

static int get_inner_mtu(struct byte_reader *r, uint32_t *mtu, struct err *e)
{
    *mtu = byte_get32(r);
    if (*mtu < MESSAGE_MTU_MIN || *mtu > MESSAGE_MTU_MAX)
        return err_set(e, HW_EPROTO, "MTU of %u", *mtu);
    return 0;
}

static int check_offer(const struct message_offer *o, const struct hw_id *link, struct err *e)
{
    if (id_is_zero(link) || id_is_zero(&o->own) || id_is_zero(&o->peer) || id_is_zero(&o->boot))
        return err_set(e, HW_EPROTO, "an id of zeros");
    if (id_equal(&o->own, &o->peer))
        return err_set(e, HW_EPROTO, "a gateway's link with itself");
    if (o->epoch == 0 || o->epoch > MESSAGE_EPOCH_MAX)
        return err_set(e, HW_EPROTO, "epoch out of range");
    if (o->window < MESSAGE_WINDOW_MIN || o->window > MESSAGE_WINDOW_MAX ||
        (o->window & (o->window - 1)) != 0)
        return err_set(e, HW_EPROTO, "replay window of %u", o->window);
    int rc = check_suites(o, e);
    return rc ? rc : check_spis(o, e);
}

static int get_offer(struct byte_reader *r, struct message *m, struct err *e)
{
    struct message_offer *o = &m->offer;
    unsigned version = byte_get8(r);
    unsigned flags = byte_get8(r);
    o->n = byte_get8(r);
    o->n_suites = byte_get8(r);
    if (version != MESSAGE_VERSION)
        return err_set(e, HW_EPROTO, "version %u", version);
    if (flags > 1)
        return err_set(e, HW_EPROTO, "unknown flags 0x%02x", flags);
    if (o->n == 0 || o->n > HW_TUNNELS_PER_LINK_MAX)
        return err_set(e, HW_EPROTO, "%u tunnels", o->n);
    if (o->n_suites == 0 || o->n_suites > MESSAGE_SUITES_MAX ||
        (m->type == MESSAGE_ACCEPT && o->n_suites != 1))
        return err_set(e, HW_EPROTO, "%u suites", o->n_suites);
    o->esn = flags & 1;
    m->link = get_id(r);
    o->own = get_id(r);
    o->peer = get_id(r);
    o->boot = get_id(r);
    o->epoch = byte_get64(r);
    o->window = byte_get32(r);
    int rc = get_inner_mtu(r, &o->mtu, e);
    if (rc != 0)
        return rc;
    o->features = byte_get64(r);
    const uint8_t *suites = byte_take(r, o->n_suites);
    if (suites)
        memcpy(o->suites, suites, o->n_suites);
    for (unsigned i = 0; i < o->n; i++)
        o->spi[i] = byte_get32(r);
    if (!r->ok)
        return 0; /* too short: said by the caller for every type */
    return check_offer(o, &m->link, e);
}

static int get_epoch(struct byte_reader *r, struct message *m, struct err *e)
{
    m->link = get_id(r);
    m->epoch = byte_get64(r);
    if (m->epoch > MESSAGE_EPOCH_MAX || (m->epoch == 0 && m->type != MESSAGE_HELLO))
        return err_set(e, HW_EPROTO, "epoch out of range");
    return m->type == MESSAGE_HELLO ? get_inner_mtu(r, &m->hello_mtu, e) : 0;
}

static int get_mtu(struct byte_reader *r, struct message *m, struct err *e)
{
    struct prefix *p = &m->mtu.prefix;
    m->link = get_id(r);
    int rc = get_inner_mtu(r, &m->mtu.mtu, e);
    if (rc != 0)
        return rc;
    p->addr.family = byte_get8(r);
    p->len = byte_get8(r);
    const uint8_t *addr = byte_take(r, sizeof p->addr.b);
    if (!addr)
        return 0;
    memcpy(p->addr.b, addr, sizeof p->addr.b);
    if (p->addr.family != 4 && p->addr.family != 6)
        return err_set(e, HW_EPROTO, "address family %u", p->addr.family);
    if (p->len > ipaddr_bits(&p->addr))
        return err_set(e, HW_EPROTO, "prefix length %u", p->len);
    for (unsigned bit = p->len; bit < 8 * sizeof p->addr.b; bit++)
        if (p->addr.b[bit / 8] & (0x80u >> bit % 8))
            return err_set(e, HW_EPROTO, "prefix with host bits");
    return 0;
}

static void get_refuse(struct byte_reader *r, struct message *m)
{
    m->link = get_id(r);
    m->refuse.code = byte_get16(r);
    size_t n = r->ok && r->left <= MESSAGE_REFUSE_TEXT ? r->left : 0;
    const uint8_t *text = byte_take(r, n);
    for (size_t i = 0; text && i < n; i++)
        m->refuse.text[i] = text[i] >= 0x20 && text[i] < 0x7f ? (char)text[i] : '?';
}

int message_decode(const uint8_t *data, size_t len, struct message *out, struct err *e)
{
    if (len < MESSAGE_HEADER_LEN)
        return err_set(e, HW_EPROTO, "message cut short");
    size_t total = 0;
    int rc = message_frame(data, &total, e);
    if (rc != 0)
        return rc;
    struct message m = {.type = (enum message_type)load_be16(data)};
    if (total != len)
        return err_set(e, HW_EPROTO, "%s cut short or too long", message_name(m.type));
    struct byte_reader r = byte_reader_init(data + MESSAGE_HEADER_LEN, len - MESSAGE_HEADER_LEN);
    switch (m.type) {
    case MESSAGE_OFFER:
    case MESSAGE_ACCEPT:
        rc = get_offer(&r, &m, e);
        break;
    case MESSAGE_READY:
    case MESSAGE_DELETE:
    case MESSAGE_HELLO:
        rc = get_epoch(&r, &m, e);
        break;
    case MESSAGE_WANT:
        m.link = get_id(&r);
        m.reason = byte_get8(&r);
        break;
    case MESSAGE_MTU:
        rc = get_mtu(&r, &m, e);
        break;
    case MESSAGE_REFUSE:
        get_refuse(&r, &m);
        break;
    }
    if (rc != 0) {
        (void)err_wrap(e, "%s", message_name(m.type));
        return rc;
    }
    if (!r.ok || r.left != 0)
        return err_set(e, HW_EPROTO, "%s cut short or too long", message_name(m.type));
    *out = m;
    return 0;
}
