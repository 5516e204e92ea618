#include "agent/control/firewall/nft_text.h"
#include "common/strbuf.h"
#include <inttypes.h>
#include <stdlib.h>

/* A flood of refused packets must not become a flood of the kernel's log. */
#define LOG_LIMIT "limit rate 20/second burst 100 packets"

struct text {
    struct strbuf b;
    const struct firewall *f;
    const struct firewall_fold *fold;
    const struct firewall_counts *counts; /* NULL: all begin at 0 */
    bool *begun;                          /* rules whose first element has been written */
};

static void put_address(struct strbuf *b, unsigned family, fold_value v)
{
    struct ipaddr a = {.family = (uint8_t)family};
    char text[IPADDR_TEXT_MAX];
    for (unsigned i = ipaddr_bits(&a) / 8; i-- > 0; v >>= 8)
        a.b[i] = (uint8_t)v;
    strbuf_puts(b, ipaddr_text(&a, text));
}

static void put_addresses(struct strbuf *b, unsigned family, const struct fold_box *box,
                          enum fold_dimension d)
{
    put_address(b, family, box->low[d]);
    if (box->high[d] != box->low[d]) {
        strbuf_puts(b, "-");
        put_address(b, family, box->high[d]);
    }
}

static void put_numbers(struct strbuf *b, const struct fold_box *box, enum fold_dimension d)
{
    strbuf_printf(b, " . %u", (unsigned)box->low[d]);
    if (box->high[d] != box->low[d])
        strbuf_printf(b, "-%u", (unsigned)box->high[d]);
}

static void put_count(struct strbuf *b, const struct firewall_count *c)
{
    strbuf_printf(b, "packets %" PRIu64 " bytes %" PRIu64, c->packets, c->bytes);
}

/* A rule that logs has a chain for it; the others' verdicts stand in the map itself. */
static void put_verdict(struct text *t, uint32_t rule)
{
    if (t->f->rules[rule].log)
        strbuf_printf(&t->b, "goto log%" PRIu32, rule);
    else
        strbuf_puts(&t->b, t->f->rules[rule].allow ? "accept" : "drop");
}

static void put_element(struct text *t, const struct fold_space *s, const struct fold_box *box)
{
    put_addresses(&t->b, s->family, box, FOLD_SOURCE);
    strbuf_puts(&t->b, " . ");
    put_addresses(&t->b, s->family, box, FOLD_DESTINATION);
    put_numbers(&t->b, box, FOLD_PROTOCOL);
    if (s->source_ports)
        put_numbers(&t->b, box, FOLD_SOURCE_PORT);
    if (s->ports)
        put_numbers(&t->b, box, FOLD_DESTINATION_PORT);
    if (t->counts && !t->begun[box->rule]) {
        strbuf_puts(&t->b, " counter ");
        put_count(&t->b, &t->counts->rules[box->rule].now);
        t->begun[box->rule] = true;
    }
    strbuf_printf(&t->b, " comment \"%" PRIu32 "\" : ", box->rule);
    put_verdict(t, box->rule);
    strbuf_puts(&t->b, ",\n");
}

static void put_key(struct strbuf *b, const struct fold_space *s)
{
    const char *ip = s->family == 4 ? "ip" : "ip6";
    strbuf_printf(b, "%s saddr . %s daddr . meta l4proto", ip, ip);
    if (s->source_ports)
        strbuf_puts(b, " . th sport");
    if (s->ports)
        strbuf_puts(b, " . th dport");
}

static void put_map_name(struct strbuf *b, const struct fold_space *s, unsigned layer)
{
    strbuf_printf(b, "v%u_%s_%u", s->family, s->ports ? "ports" : "other", layer);
}

static void put_map(struct text *t, const struct fold_space *s, unsigned layer)
{
    strbuf_puts(&t->b, "map ");
    put_map_name(&t->b, s, layer);
    strbuf_puts(&t->b, " {\ntypeof ");
    put_key(&t->b, s);
    strbuf_puts(&t->b, " : verdict\nflags interval\ncounter\nelements = {\n");
    for (size_t i = 0; i < s->n_boxes; i++)
        if (s->boxes[i].layer == layer)
            put_element(t, s, &s->boxes[i]);
    strbuf_puts(&t->b, "}\n}\n");
}

static void put_counter(struct text *t, const char *name, const struct firewall_count *c)
{
    strbuf_printf(&t->b, "counter %s {\n", name);
    if (t->counts) {
        put_count(&t->b, c);
        strbuf_puts(&t->b, "\n");
    }
    strbuf_puts(&t->b, "}\n");
}

static void put_counters(struct text *t)
{
    static const struct firewall_count none;
    const struct firewall_counts *c = t->counts;
    put_counter(t, "established", c ? &c->established : &none);
    put_counter(t, "invalid", c ? &c->invalid : &none);
    put_counter(t, "base", c ? &c->base : &none);
}

static void put_log(struct strbuf *b, const struct hw_id *id)
{
    char text[ID_TEXT_MAX];
    strbuf_printf(b, LOG_LIMIT " log prefix \"hawser-fw %s \"\n", id_text(id, text));
}

static void put_log_chains(struct strbuf *b, const struct firewall *f,
                           const struct firewall_fold *fold)
{
    for (size_t i = 0; i < f->n_rules; i++) {
        if (!f->rules[i].log || fold->rules[i].fate != FOLD_MET)
            continue;
        strbuf_printf(b, "chain log%zu {\n", i);
        put_log(b, &f->rules[i].id);
        strbuf_puts(b, f->rules[i].allow ? "accept\n}\n" : "drop\n}\n");
    }
}

/* Layers of one space in their order; the first that has the packet decides. */
static void put_lookups(struct strbuf *b, const struct fold_space *s)
{
    for (unsigned layer = 0; layer < s->layers; layer++) {
        strbuf_printf(b, "meta nfproto ipv%u meta l4proto %s{ tcp, udp } ", s->family,
                      s->ports ? "" : "!= ");
        put_key(b, s);
        strbuf_puts(b, " vmap @");
        put_map_name(b, s, layer);
        strbuf_puts(b, "\n");
    }
}

/* Everything between the site and the tunnels passes hawser0, and nothing else does. Established
 * connections come first: a change of rules is about new ones. */
static void put_edge(struct strbuf *b, const struct firewall *f, const struct firewall_fold *fold)
{
    strbuf_puts(b, "chain " FIREWALL_EDGE " {\n"
                   "type filter hook forward priority filter; policy accept;\n"
                   "iifname != \"" HW_TUN_NAME "\" oifname != \"" HW_TUN_NAME "\" return\n"
                   "ct state established,related counter name \"established\" accept\n"
                   "ct state invalid counter name \"invalid\" drop\n");
    for (unsigned i = 0; i < FOLD_SPACES; i++)
        put_lookups(b, &fold->spaces[i]);
    strbuf_puts(b, "counter name \"base\"\n");
    if (f->log_base)
        put_log(b, &f->ruleset_id);
    strbuf_puts(b, f->base_allow ? "accept\n}\n" : "drop\n}\n");
}

size_t nft_text_edge_rules(const struct firewall *f, const struct firewall_fold *fold)
{
    size_t n = f->log_base ? 6 : 5; /* around the look-ups in put_edge() */
    for (unsigned i = 0; i < FOLD_SPACES; i++)
        n += fold->spaces[i].layers;
    return n;
}

char *nft_text(const struct firewall *f, const struct firewall_fold *fold, const char *mark,
               const struct firewall_counts *counts)
{
    struct text t = {.b = STRBUF_INIT, .f = f, .fold = fold, .counts = counts};
    t.begun = calloc(f->n_rules ? f->n_rules : 1, sizeof *t.begun);
    if (!t.begun)
        return NULL;
    strbuf_puts(&t.b, FIREWALL_REMOVE "table inet " FIREWALL_TABLE " {\n");
    if (mark)
        strbuf_printf(&t.b, "comment \"%s\"\n", mark);
    put_counters(&t);
    put_log_chains(&t.b, f, fold);
    for (unsigned i = 0; i < FOLD_SPACES; i++)
        for (unsigned layer = 0; layer < fold->spaces[i].layers; layer++)
            put_map(&t, &fold->spaces[i], layer);
    put_edge(&t.b, f, fold);
    strbuf_puts(&t.b, "}\n");
    free(t.begun);
    return strbuf_take(&t.b);
}
