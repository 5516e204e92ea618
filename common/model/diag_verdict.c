#include "common/model/diag_result.h"
#include "common/strbuf.h"
#include <stdio.h>
#include <string.h>

static char *finish(struct strbuf *b, char out[DIAG_VERDICT_MAX])
{
    (void)snprintf(out, DIAG_VERDICT_MAX, "%s", strbuf_str(b));
    strbuf_done(b);
    return out;
}

/* "gw-b1 (hop 3)", "198.51.100.2 (hop 1)", "hop 4" for one that never answered, "the source". */
static void add_hop(struct strbuf *b, const struct path_trace *t, size_t hop)
{
    char text[IPADDR_TEXT_MAX];
    if (hop == 0) {
        strbuf_printf(b, "%s (source)", ipaddr_text(&t->source, text));
        return;
    }
    const struct path_hop *h = &t->hops[hop - 1];
    if (h->name[0])
        strbuf_printf(b, "%s (hop %zu)", h->name, hop);
    else if (h->n_addresses)
        strbuf_printf(b, "%s (hop %zu)", ipaddr_text(&h->addresses[0], text), hop);
    else
        strbuf_printf(b, "hop %zu", hop);
}

/* The falls of the MTU, each with the two hops between which it lies. A hop whose MTU is not known
 * lies within a fall. */
static unsigned add_falls(struct strbuf *b, const struct path_trace *t, bool *searched)
{
    unsigned falls = 0, mtu = 0;
    size_t last = 0;
    for (size_t i = 0; i < t->n_hops; i++) {
        const struct path_hop *h = &t->hops[i];
        if (!h->mtu)
            continue;
        /* Before the first hop only the device's own MTU is no fall. */
        bool at_source = !mtu && h->mtu_source != MTU_DEVICE;
        if (at_source || h->mtu < mtu) {
            if (at_source)
                strbuf_printf(b, "MTU falls to %u between ", h->mtu);
            else
                strbuf_printf(b, "%s%u to %u between ", falls ? "; from " : "MTU falls from ", mtu,
                              h->mtu);
            add_hop(b, t, last);
            strbuf_puts(b, " and ");
            add_hop(b, t, i + 1);
            *searched = *searched || h->mtu_source == MTU_SEARCH;
            falls++;
        }
        mtu = h->mtu;
        last = i + 1;
    }
    return falls;
}

/* The last hop that said anything; 0: none. */
static size_t last_answerer(const struct path_trace *t)
{
    size_t n = t->n_hops;
    while (n > 0 && t->hops[n - 1].n_addresses == 0)
        n--;
    return n;
}

static void add_end(struct strbuf *b, const struct path_trace *t)
{
    size_t last = last_answerer(t);
    if (last && t->hops[last - 1].note[0] && last == t->n_hops) {
        add_hop(b, t, last);
        strbuf_printf(b, " says: %s.", t->hops[last - 1].note);
    } else if (last) {
        strbuf_puts(b, "Nobody beyond ");
        if (t->hops[last - 1].name[0])
            strbuf_printf(b, "hop %zu (%s) answers.", last, t->hops[last - 1].name);
        else {
            char text[IPADDR_TEXT_MAX];
            strbuf_printf(b, "hop %zu (%s) answers.", last,
                          ipaddr_text(&t->hops[last - 1].addresses[0], text));
        }
    } else {
        char text[IPADDR_TEXT_MAX];
        strbuf_printf(b, "Nobody answers on the way to %s.",
                      t->destination_name[0] ? t->destination_name
                                             : ipaddr_text(&t->destination, text));
    }
}

static void add_verdict(struct strbuf *b, const struct path_trace *t)
{
    bool searched = false;
    if (add_falls(b, t, &searched)) {
        strbuf_puts(b, ".");
        if (searched)
            strbuf_puts(b, " Nobody says so by ICMP.");
        if (!t->reached)
            strbuf_puts(b, " ");
    } else if (t->reached) {
        strbuf_printf(b, "MTU is %u all the way.", t->path_mtu);
    }
    if (!t->reached)
        add_end(b, t);
}

char *path_trace_verdict(const struct path_trace *t, char out[DIAG_VERDICT_MAX])
{
    struct strbuf b = STRBUF_INIT;
    add_verdict(&b, t);
    return finish(&b, out);
}

char *path_both_verdict(const struct path_trace *outward, const struct path_trace *back,
                        char out[DIAG_VERDICT_MAX])
{
    char one[DIAG_VERDICT_MAX], two[DIAG_VERDICT_MAX];
    struct strbuf b = STRBUF_INIT;
    if (!back)
        return path_trace_verdict(outward, out);
    (void)path_trace_verdict(outward, one);
    (void)path_trace_verdict(back, two);
    /* Without a fall either way one sentence says it all. */
    if (strcmp(one, two) == 0) {
        size_t len = strlen(one);
        strbuf_add(&b, one, len && one[len - 1] == '.' ? len - 1 : len);
        strbuf_puts(&b, ", outward and back.");
    } else {
        strbuf_printf(&b, "Outward: %s Back: %s", one, two);
    }
    return finish(&b, out);
}

char *ping_verdict(const struct ping_result *p, char out[DIAG_VERDICT_MAX])
{
    struct strbuf b = STRBUF_INIT;
    struct diag_spread rtt = {0};
    const char *error = "";
    for (size_t i = 0; i < p->n_replies; i++) {
        if (p->replies[i].rtt_ms >= 0)
            diag_spread_add(&rtt, p->replies[i].rtt_ms);
        if (p->replies[i].error[0])
            error = p->replies[i].error;
    }
    strbuf_printf(&b, "%u of %u answered", p->received, p->sent);
    if (rtt.n)
        strbuf_printf(&b, ", %.2f ms on average", rtt.sum / rtt.n);
    if (error[0])
        strbuf_printf(&b, "; %s", error);
    strbuf_puts(&b, ".");
    return finish(&b, out);
}

enum tcp_outcome tcp_result_outcome(const struct tcp_result *t)
{
    enum tcp_outcome best = t->n_attempts ? t->attempts[0].outcome : TCP_TIMEOUT;
    for (size_t i = 1; i < t->n_attempts; i++)
        if (t->attempts[i].outcome < best)
            best = t->attempts[i].outcome;
    return best;
}

char *tcp_verdict(const struct tcp_result *t, char out[DIAG_VERDICT_MAX])
{
    struct strbuf b = STRBUF_INIT;
    char to[IPADDR_TEXT_MAX];
    enum tcp_outcome outcome = tcp_result_outcome(t);
    const struct tcp_attempt *a = NULL;
    for (size_t i = 0; i < t->n_attempts && !a; i++)
        if (t->attempts[i].outcome == outcome)
            a = &t->attempts[i];
    (void)ipaddr_text(&t->destination, to);
    if (outcome == TCP_CONNECTED)
        strbuf_printf(&b, "%s takes TCP connections on port %u, after %.1f ms.", to, t->port,
                      a ? a->duration_ms : 0);
    else if (outcome == TCP_REFUSED)
        strbuf_printf(&b, "%s answers, but nothing listens on TCP port %u.", to, t->port);
    else if (outcome == TCP_TIMEOUT)
        strbuf_printf(&b, "%s does not answer on TCP port %u.", to, t->port);
    else
        strbuf_printf(&b, "%s cannot be reached on TCP port %u: %s.", to, t->port,
                      a ? a->error : "");
    return finish(&b, out);
}
