#include "agent/control/keying/exchange.h"
#include "common/esp_suite.h"
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static unsigned fail(struct exchange *x, uint16_t refuse_code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static unsigned fail(struct exchange *x, uint16_t refuse_code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(x->why, sizeof x->why, fmt, ap);
    va_end(ap);
    x->refuse_code = refuse_code;
    x->state = EXCHANGE_OVER;
    return EXCHANGE_FAIL;
}

static void put_out(struct exchange *x, const struct message *m)
{
    uint8_t buf[MESSAGE_MAX];
    x->out_len = message_encode(m, buf);
    memcpy(x->out, buf, x->out_len);
}

/* SHA-256(OFFER ‖ ACCEPT): both ends' keys hang on every byte of both. */
static bool hash_both(struct exchange *x, const uint8_t *accept, size_t len)
{
    uint8_t both[2 * EXCHANGE_BYTES_MAX];
    size_t got = 0;
    memcpy(both, x->first, x->first_len);
    memcpy(both + x->first_len, accept, len);
    return EVP_Q_digest(NULL, "SHA256", NULL, both, x->first_len + len, x->hash, &got) == 1 &&
           got == sizeof x->hash;
}

static struct message offer_of(const struct exchange_terms *t)
{
    struct message m = {.type = MESSAGE_OFFER, .link = t->link};
    m.offer = (struct message_offer){.esn = t->esn,
                                     .n = (uint8_t)t->n,
                                     .n_suites = (uint8_t)t->n_suites,
                                     .own = t->own,
                                     .peer = t->peer,
                                     .boot = t->boot,
                                     .epoch = t->epoch,
                                     .window = t->window,
                                     .mtu = t->mtu};
    memcpy(m.offer.suites, t->suites, sizeof m.offer.suites);
    memcpy(m.offer.spi, t->spi, t->n * sizeof t->spi[0]);
    return m;
}

unsigned exchange_begin(struct exchange *x, const struct exchange_terms *terms, uint64_t now)
{
    *x = (struct exchange){.role = EXCHANGE_INITIATOR,
                           .state = EXCHANGE_OFFERED,
                           .terms = *terms,
                           .connected = true,
                           .deadline_ns = now + EXCHANGE_STEP_NS};
    struct message m = offer_of(terms);
    put_out(x, &m);
    memcpy(x->first, x->out, x->out_len);
    x->first_len = x->out_len;
    return EXCHANGE_SEND;
}

/* The first of a list that stands in the other too; 0: none. */
static uint8_t first_common(const uint8_t *list, unsigned n, const uint8_t *other, unsigned n_other)
{
    for (unsigned i = 0; i < n; i++)
        if (memchr(other, list[i], n_other))
            return list[i];
    return 0;
}

/* The stricter end wins: of what each would choose among the suites that both allow, the stronger
 * one, whoever has begun. 0: none. */
static uint8_t choose_suite(const struct message_offer *o, const struct exchange_terms *t)
{
    uint8_t theirs = first_common(o->suites, o->n_suites, t->suites, t->n_suites);
    uint8_t own = first_common(t->suites, t->n_suites, o->suites, o->n_suites);
    return esp_suite_strength(own) > esp_suite_strength(theirs) ? own : theirs;
}

/* Takes over what the peer's message brings. */
static void take_peer(struct exchange *x, const struct message_offer *o)
{
    x->peer_boot = o->boot;
    x->peer_mtu = o->mtu;
    memcpy(x->peer_spi, o->spi, x->n * sizeof x->peer_spi[0]);
}

static unsigned start_install(struct exchange *x, uint64_t now)
{
    x->state = EXCHANGE_INSTALLING;
    x->installed = true;
    x->acks_left = 2;
    x->deadline_ns = now + EXCHANGE_STEP_NS;
    return EXCHANGE_INSTALL;
}

unsigned exchange_respond(struct exchange *x, const struct exchange_terms *terms,
                          const struct message *offer, const uint8_t *raw, size_t len, uint64_t now)
{
    const struct message_offer *o = &offer->offer;
    *x = (struct exchange){.role = EXCHANGE_RESPONDER,
                           .terms = *terms,
                           .connected = true,
                           .deadline_ns = now + EXCHANGE_STEP_NS};
    x->suite = choose_suite(o, terms);
    if (x->suite == 0)
        return fail(x, REFUSE_SUITE, "no suite in common");
    x->epoch = o->epoch > terms->epoch ? o->epoch : terms->epoch;
    if (x->epoch > MESSAGE_EPOCH_MAX)
        return fail(x, REFUSE_EPOCH, "no higher epoch");
    if (len > sizeof x->first)
        return fail(x, 0, "OFFER too long");
    x->n = o->n < terms->n ? o->n : terms->n;
    x->esn = o->esn && terms->esn;
    x->window = o->window < terms->window ? o->window : terms->window;
    take_peer(x, o);
    struct message m = offer_of(terms);
    m.type = MESSAGE_ACCEPT;
    m.offer.epoch = x->epoch;
    m.offer.n = (uint8_t)x->n;
    m.offer.esn = x->esn;
    m.offer.window = x->window;
    m.offer.n_suites = 1;
    m.offer.suites[0] = x->suite;
    put_out(x, &m);
    memcpy(x->first, raw, len);
    x->first_len = len;
    if (!hash_both(x, x->out, x->out_len))
        return fail(x, 0, "hashing failed");
    return start_install(x, now);
}

/* Has the peer chosen from what was offered, and nothing else? */
static const char *judge_accept(const struct exchange *x, const struct message_offer *a)
{
    const struct exchange_terms *t = &x->terms;
    bool suite_offered = false;
    for (unsigned i = 0; i < t->n_suites; i++)
        suite_offered |= t->suites[i] == a->suites[0];
    if (!id_equal(&a->own, &t->peer) || !id_equal(&a->peer, &t->own))
        return "ACCEPT of other gateways";
    if (!suite_offered)
        return "ACCEPT with a suite that wasn't offered";
    if (a->n > t->n || (a->esn && !t->esn) || a->window > t->window)
        return "ACCEPT of more than was offered";
    if (a->epoch < t->epoch)
        return "ACCEPT of an older epoch";
    return NULL;
}

static unsigned take_accept(struct exchange *x, const struct message *m, const uint8_t *raw,
                            size_t len, uint64_t now)
{
    const struct message_offer *a = &m->offer;
    if (x->role != EXCHANGE_INITIATOR || x->state != EXCHANGE_OFFERED)
        return fail(x, 0, "ACCEPT out of turn");
    const char *bad = judge_accept(x, a);
    if (bad)
        return fail(x, 0, "%s", bad);
    if (len > EXCHANGE_BYTES_MAX || !hash_both(x, raw, len))
        return fail(x, 0, "hashing failed");
    x->epoch = a->epoch;
    x->n = a->n;
    x->esn = a->esn;
    x->window = a->window;
    x->suite = a->suites[0];
    take_peer(x, a);
    return start_install(x, now);
}

static unsigned start_switch(struct exchange *x, uint64_t now)
{
    x->state = EXCHANGE_SWITCHING;
    x->deadline_ns = now + EXCHANGE_STEP_NS;
    return EXCHANGE_SWITCH;
}

static unsigned take_ready(struct exchange *x, uint64_t epoch, uint64_t now)
{
    if (x->role != EXCHANGE_RESPONDER || epoch != x->epoch)
        return fail(x, 0, "READY out of turn");
    if (x->state == EXCHANGE_SWITCHING)
        return 0; /* the first packet was faster */
    if (x->state != EXCHANGE_ACCEPTED)
        return fail(x, 0, "READY out of turn");
    return start_switch(x, now);
}

unsigned exchange_message(struct exchange *x, const struct message *m, const uint8_t *raw,
                          size_t len, uint64_t now)
{
    if (!id_equal(&m->link, &x->terms.link))
        return fail(x, 0, "%s of another link", message_name(m->type));
    switch (m->type) {
    case MESSAGE_ACCEPT:
        return take_accept(x, m, raw, len, now);
    case MESSAGE_READY:
        return take_ready(x, m->epoch, now);
    case MESSAGE_REFUSE:
        if (x->role != EXCHANGE_INITIATOR || x->state != EXCHANGE_OFFERED)
            return fail(x, 0, "REFUSE out of turn");
        x->collided = m->refuse.code == REFUSE_COLLISION;
        return fail(x, 0, "refused: %s", m->refuse.text);
    default:
        return fail(x, 0, "%s in an exchange", message_name(m->type));
    }
}

unsigned exchange_installed(struct exchange *x, int status, const char *text, uint64_t now)
{
    if (x->state != EXCHANGE_INSTALLING)
        return 0;
    if (status != 0)
        return fail(x, x->role == EXCHANGE_RESPONDER ? REFUSE_DATAPLANE : 0,
                    "dataplane refused SAs: %s", text);
    if (--x->acks_left > 0)
        return 0;
    if (x->role == EXCHANGE_INITIATOR)
        return start_switch(x, now);
    x->state = EXCHANGE_ACCEPTED;
    x->deadline_ns = now + EXCHANGE_STEP_NS;
    return EXCHANGE_SEND;
}

unsigned exchange_switched(struct exchange *x, int status, const char *text)
{
    if (x->state != EXCHANGE_SWITCHING)
        return 0;
    if (status != 0)
        return fail(x, 0, "dataplane did not switch: %s", text);
    x->state = EXCHANGE_OVER;
    if (x->role == EXCHANGE_RESPONDER)
        return EXCHANGE_DONE;
    struct message m = {.type = MESSAGE_READY, .link = x->terms.link, .epoch = x->epoch};
    put_out(x, &m);
    return EXCHANGE_SEND | EXCHANGE_DONE;
}

unsigned exchange_first_rx(struct exchange *x, uint64_t now)
{
    return x->state == EXCHANGE_ACCEPTED ? start_switch(x, now) : 0;
}

unsigned exchange_closed(struct exchange *x, const char *why)
{
    x->connected = false;
    if (x->state == EXCHANGE_ACCEPTED) {
        x->state = EXCHANGE_OVER;
        return EXCHANGE_PENDING;
    }
    bool stands = x->state == EXCHANGE_SWITCHING ||
                  (x->role == EXCHANGE_INITIATOR && x->state == EXCHANGE_INSTALLING);
    return stands || x->state == EXCHANGE_OVER ? 0 : fail(x, 0, "%s", why);
}

unsigned exchange_expired(struct exchange *x)
{
    switch (x->state) {
    case EXCHANGE_OFFERED:
        return fail(x, 0, "no answer to the offer within 10 s");
    case EXCHANGE_ACCEPTED:
        x->state = EXCHANGE_OVER;
        return EXCHANGE_PENDING;
    case EXCHANGE_INSTALLING:
    case EXCHANGE_SWITCHING:
        return fail(x, x->role == EXCHANGE_RESPONDER ? REFUSE_DATAPLANE : 0,
                    "dataplane did not answer within 10 s");
    case EXCHANGE_OVER:
        break;
    }
    return 0;
}

bool exchange_yields(const struct exchange *x, const struct message_offer *theirs)
{
    if (x->role == EXCHANGE_RESPONDER)
        return true;
    if (x->state == EXCHANGE_OFFERED)
        return id_cmp(&x->terms.own, &x->terms.peer) > 0;
    return !id_equal(&theirs->boot, &x->peer_boot);
}
