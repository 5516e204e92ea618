#include "common/model/firewall_fold.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS  400
#define RULES   24
#define PACKETS 400

static struct err e;
static uint64_t state = 0x9e3779b97f4a7c15u;

/* The same numbers in each run. */
static unsigned below(unsigned bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % bound;
}

struct packet {
    struct ipaddr from, to;
    unsigned protocol;
    uint16_t from_port, to_port;
};

/* ---- judge: first match over the rules as they are written ---- */

static bool side_fits(const struct firewall *f, const struct firewall_side *s,
                      const struct ipaddr *a)
{
    if (s->n_prefixes == 0 && s->n_groups == 0)
        return true;
    for (size_t i = 0; i < s->n_prefixes; i++)
        if (prefix_contains(&s->prefixes[i], a))
            return true;
    for (size_t i = 0; i < s->n_groups; i++)
        for (size_t k = 0; k < f->groups[s->groups[i]].n_prefixes; k++)
            if (prefix_contains(&f->groups[s->groups[i]].prefixes[k], a))
                return true;
    return false;
}

static bool port_fits(const struct firewall_ports *p, size_t n, uint16_t port)
{
    for (size_t i = 0; i < n; i++)
        if (port >= p[i].first && port <= p[i].last)
            return true;
    return n == 0;
}

static bool rule_fits(const struct firewall *f, const struct firewall_rule *r,
                      const struct packet *p)
{
    /* RFC 4443: ICMP of IPv6 is protocol 58, and 1 is nothing there. */
    int protocol = r->protocol == FIREWALL_ICMP && p->from.family == 6 ? 58 : r->protocol;
    return (protocol == FIREWALL_ANY_PROTOCOL || (unsigned)protocol == p->protocol) &&
           side_fits(f, &r->source, &p->from) && side_fits(f, &r->destination, &p->to) &&
           port_fits(r->source_ports, r->n_source_ports, p->from_port) &&
           port_fits(r->destination_ports, r->n_destination_ports, p->to_port);
}

static int first_match(const struct firewall *f, const struct packet *p)
{
    for (size_t i = 0; i < f->n_rules; i++)
        if (rule_fits(f, &f->rules[i], p))
            return (int)i;
    return -1;
}

/* ---- the folded form, looked up as the kernel does ---- */

static bool in_box(const struct fold_box *b, const fold_value key[FOLD_DIMENSIONS])
{
    for (unsigned d = 0; d < FOLD_DIMENSIONS; d++)
        if (key[d] < b->low[d] || key[d] > b->high[d])
            return false;
    return true;
}

/* Also counts how many boxes of the layer have the packet. */
static int look_up(const struct firewall_fold *fold, const struct packet *p, unsigned *worst)
{
    bool ports = p->protocol == FIREWALL_TCP || p->protocol == FIREWALL_UDP;
    const fold_value key[FOLD_DIMENSIONS] = {fold_address(&p->from), fold_address(&p->to),
                                             p->protocol, ports ? p->from_port : 0,
                                             ports ? p->to_port : 0};
    for (unsigned i = 0; i < FOLD_SPACES; i++) {
        const struct fold_space *s = &fold->spaces[i];
        if (s->family != p->from.family || s->ports != ports)
            continue;
        for (unsigned layer = 0; layer < s->layers; layer++) {
            unsigned found = 0;
            int rule = -1;
            for (size_t k = 0; k < s->n_boxes; k++)
                if (s->boxes[k].layer == layer && in_box(&s->boxes[k], key)) {
                    rule = (int)s->boxes[k].rule;
                    found++;
                }
            if (found > *worst)
                *worst = found;
            if (found)
                return rule;
        }
    }
    return -1;
}

/* ---- random rules and packets from a small world, so that they meet often ---- */

static struct ipaddr some_address(unsigned family)
{
    struct ipaddr a = {.family = (uint8_t)family};
    a.b[0] = family == 4 ? 10 : 0xfd;
    a.b[ipaddr_bits(&a) / 8 - 1] = (uint8_t)below(16);
    return a;
}

static struct prefix some_prefix(void)
{
    struct ipaddr a = some_address(below(2) ? 4 : 6);
    unsigned host = below(8) ? below(5) : ipaddr_bits(&a);
    struct prefix p = {.addr = a, .len = (uint8_t)(ipaddr_bits(&a) - host)};
    for (unsigned bit = p.len; bit < ipaddr_bits(&a); bit++)
        p.addr.b[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
    return p;
}

static struct prefix *some_prefixes(size_t n)
{
    struct prefix *p = calloc(n ? n : 1, sizeof *p);
    for (size_t i = 0; p && i < n; i++)
        p[i] = some_prefix();
    return p;
}

static void some_side(struct firewall_side *s)
{
    s->n_prefixes = below(4);
    s->prefixes = some_prefixes(s->n_prefixes);
    s->n_groups = below(4) == 0;
    s->groups = calloc(1, sizeof *s->groups);
    if (s->groups)
        s->groups[0] = below(2);
}

static size_t some_ports(struct firewall_ports p[FIREWALL_PORTS_MAX])
{
    size_t n = below(3);
    unsigned next = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned first = next + below(4), last = first + below(4);
        p[i] = (struct firewall_ports){(uint16_t)first, (uint16_t)last};
        next = last + 1;
    }
    if (n && below(4) == 0)
        p[n - 1].last = UINT16_MAX;
    return n;
}

static void some_rule(struct firewall_rule *r)
{
    static const int protocols[] = {FIREWALL_ANY_PROTOCOL, 6, 6, 17, 1, 47, 58};
    r->protocol = protocols[below(7)];
    some_side(&r->source);
    some_side(&r->destination);
    if (r->protocol == FIREWALL_TCP || r->protocol == FIREWALL_UDP) {
        r->n_source_ports = below(2) ? 0 : some_ports(r->source_ports);
        r->n_destination_ports = some_ports(r->destination_ports);
    }
}

static void some_ruleset(struct firewall *f, size_t rules)
{
    *f = (struct firewall){.present = true, .n_rules = rules, .n_groups = 2};
    f->rules = calloc(rules, sizeof *f->rules);
    f->groups = calloc(2, sizeof *f->groups);
    for (size_t i = 0; f->groups && i < 2; i++) {
        f->groups[i].n_prefixes = 3;
        f->groups[i].prefixes = some_prefixes(3);
    }
    for (size_t i = 0; f->rules && i < rules; i++)
        some_rule(&f->rules[i]);
}

static struct packet some_packet(void)
{
    static const unsigned protocols[] = {6, 6, 17, 1, 47, 58, 0, 255};
    unsigned family = below(2) ? 4 : 6;
    return (struct packet){
        .from = some_address(family),
        .to = some_address(family),
        .protocol = protocols[below(8)],
        .from_port = (uint16_t)(below(8) ? below(12) : UINT16_MAX),
        .to_port = (uint16_t)(below(8) ? below(12) : UINT16_MAX),
    };
}

/* ---- tests ---- */

static void folded_is_first_match(void)
{
    unsigned met[RULES] = {0}, none = 0, wrong = 0, worst = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct firewall f;
        struct firewall_fold fold;
        some_ruleset(&f, 1 + below(RULES));
        CU_ASSERT_EQUAL_FATAL(firewall_fold(&f, &fold, &e), 0);
        for (unsigned i = 0; i < PACKETS; i++) {
            struct packet p = some_packet();
            if (p.protocol != FIREWALL_TCP && p.protocol != FIREWALL_UDP)
                p.from_port = p.to_port = 0;
            int want = first_match(&f, &p), got = look_up(&fold, &p, &worst);
            wrong += want != got;
            if (want >= 0 && fold.rules[want].fate != FOLD_MET)
                wrong++;
            if (want >= 0)
                met[want]++;
            else
                none++;
        }
        firewall_fold_done(&fold);
        firewall_done(&f);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(worst, 1); /* never two boxes of one layer */
    CU_ASSERT(none > 0 && met[0] > 0 && met[RULES / 2] > 0);
}

/* Hundreds of single hosts and ports, so that whole runs of boxes are passed by, and now and then a
 * rule over many of them. */
static void narrow_ruleset(struct firewall *f, size_t rules)
{
    *f = (struct firewall){.present = true, .n_rules = rules};
    f->rules = calloc(rules, sizeof *f->rules);
    for (size_t i = 0; f->rules && i < rules; i++) {
        struct firewall_rule *r = &f->rules[i];
        struct ipaddr from = some_address(4), to = some_address(4);
        bool wide = i % 100 == 99;
        r->protocol = FIREWALL_TCP;
        r->source.prefixes = calloc(1, sizeof *r->source.prefixes);
        r->destination.prefixes = calloc(1, sizeof *r->destination.prefixes);
        if (!r->source.prefixes || !r->destination.prefixes)
            continue;
        r->source.prefixes[0] = prefix_of_host(&from);
        r->source.n_prefixes = 1;
        r->destination.prefixes[0] = prefix_of_host(&to);
        r->destination.n_prefixes = !wide;
        r->n_destination_ports = !wide;
        r->destination_ports[0].first = r->destination_ports[0].last = (uint16_t)below(12);
    }
}

static void runs_are_passed_by(void)
{
    unsigned wrong = 0, worst = 0, met = 0;
    for (unsigned round = 0; round < 10; round++) {
        struct firewall f;
        struct firewall_fold fold;
        narrow_ruleset(&f, 600);
        CU_ASSERT_EQUAL_FATAL(firewall_fold(&f, &fold, &e), 0);
        CU_ASSERT(fold.spaces[0].n_boxes > (size_t)4 * FOLD_HULL);
        for (unsigned i = 0; i < 2 * PACKETS; i++) {
            struct packet p = {.from = some_address(4),
                               .to = some_address(4),
                               .protocol = FIREWALL_TCP,
                               .to_port = (uint16_t)below(12)};
            int want = first_match(&f, &p);
            wrong += want != look_up(&fold, &p, &worst);
            met += want >= 0;
        }
        firewall_fold_done(&fold);
        firewall_done(&f);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(worst, 1);
    CU_ASSERT(met > 0);
}

/* Rules said to be met have a box that is theirs alone. */
static void covered_rules_have_no_boxes(void)
{
    unsigned covered = 0, wrong = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct firewall f;
        struct firewall_fold fold;
        bool seen[RULES] = {false};
        some_ruleset(&f, RULES);
        CU_ASSERT_EQUAL_FATAL(firewall_fold(&f, &fold, &e), 0);
        for (unsigned i = 0; i < FOLD_SPACES; i++)
            for (size_t k = 0; k < fold.spaces[i].n_boxes; k++)
                seen[fold.spaces[i].boxes[k].rule] = true;
        for (unsigned i = 0; i < RULES; i++) {
            wrong += seen[i] != (fold.rules[i].fate == FOLD_MET);
            wrong += fold.rules[i].fate == FOLD_COVERED && fold.rules[i].by >= i;
            covered += fold.rules[i].fate == FOLD_COVERED;
        }
        firewall_fold_done(&fold);
        firewall_done(&f);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(covered > 0);
}

static struct prefix net(const char *text)
{
    struct prefix p = {0};
    CU_ASSERT_EQUAL(prefix_parse(text, &p, NULL), 0);
    return p;
}

static void fates(void)
{
    struct prefix wide = net("10.0.0.0/8"), narrow = net("10.1.0.0/16"), six = net("fd00::/8"),
                  low = net("10.0.0.0/9"), high = net("10.128.0.0/9");
    struct firewall_rule rules[] = {
        {.protocol = 6, .source = {.prefixes = &low, .n_prefixes = 1}},
        {.protocol = 6, .source = {.prefixes = &high, .n_prefixes = 1}},
        {.protocol = 6, .source = {.prefixes = &narrow, .n_prefixes = 1}},
        {.protocol = 6, .source = {.prefixes = &wide, .n_prefixes = 1}},
        {.protocol = -1, .source = {.prefixes = &wide, .n_prefixes = 1}},
        {.protocol = 17,
         .source = {.prefixes = &wide, .n_prefixes = 1},
         .destination = {.prefixes = &six, .n_prefixes = 1}},
    };
    struct firewall f = {.rules = rules, .n_rules = 6};
    struct firewall_fold fold;
    CU_ASSERT_EQUAL_FATAL(firewall_fold(&f, &fold, &e), 0);
    CU_ASSERT_EQUAL(fold.rules[1].fate, FOLD_MET);
    CU_ASSERT_EQUAL(fold.rules[2].fate, FOLD_COVERED);
    CU_ASSERT_EQUAL(fold.rules[2].by, 0);
    /* Neither of the two covers it alone. */
    CU_ASSERT_EQUAL(fold.rules[3].fate, FOLD_COVERED);
    CU_ASSERT_EQUAL(fold.rules[3].by, 1);
    CU_ASSERT_EQUAL(fold.rules[4].fate, FOLD_MET);
    CU_ASSERT_EQUAL(fold.rules[5].fate, FOLD_EMPTY);
    firewall_fold_done(&fold);
}

/* Five thousand services, then one wide refusal: two layers, not a refusal in pieces. */
static void many_rules_stay_few_layers(void)
{
    static struct firewall_rule rules[FIREWALL_RULES_MAX];
    static struct prefix hosts[FIREWALL_RULES_MAX];
    struct prefix site = net("10.0.0.0/8");
    struct firewall f = {.rules = rules, .n_rules = FIREWALL_RULES_MAX};
    struct firewall_fold fold;
    for (unsigned i = 0; i < FIREWALL_RULES_MAX; i++) {
        struct ipaddr a = {.family = 4, .b = {10, 1, (uint8_t)(i >> 8), (uint8_t)i}};
        hosts[i] = prefix_of_host(&a);
        rules[i] = (struct firewall_rule){
            .allow = true,
            .protocol = FIREWALL_TCP,
            .destination = {.prefixes = &hosts[i], .n_prefixes = 1},
            .destination_ports = {{(uint16_t)(i % 1000), (uint16_t)(i % 1000)}},
            .n_destination_ports = 1,
        };
    }
    rules[FIREWALL_RULES_MAX - 1] =
        (struct firewall_rule){.protocol = -1, .destination = {.prefixes = &site, .n_prefixes = 1}};
    CU_ASSERT_EQUAL_FATAL(firewall_fold(&f, &fold, &e), 0);
    CU_ASSERT_EQUAL(fold.spaces[0].n_boxes, FIREWALL_RULES_MAX);
    CU_ASSERT_EQUAL(fold.spaces[0].layers, 2);
    CU_ASSERT_EQUAL(fold.spaces[1].n_boxes, 1);
    CU_ASSERT_EQUAL(fold.spaces[2].n_boxes, 0);
    CU_ASSERT_FALSE(fold.spaces[0].source_ports);
    firewall_fold_done(&fold);
}

static void too_large_is_refused(void)
{
    static struct prefix hosts[2][64];
    struct firewall_rule rule = {
        .protocol = FIREWALL_UDP,
        .source = {.prefixes = hosts[0], .n_prefixes = 64},
        .destination = {.prefixes = hosts[1], .n_prefixes = 64},
        .n_destination_ports = 5,
    };
    struct firewall f = {.rules = &rule, .n_rules = 1};
    struct firewall_fold fold;
    for (unsigned i = 0; i < 64; i++) {
        struct ipaddr a = {.family = 4, .b = {10, 0, 0, (uint8_t)(2 * i)}};
        hosts[0][i] = hosts[1][i] = prefix_of_host(&a);
    }
    for (unsigned i = 0; i < 5; i++)
        rule.destination_ports[i] = (struct firewall_ports){(uint16_t)(2 * i), (uint16_t)(2 * i)};
    CU_ASSERT_EQUAL(firewall_fold(&f, &fold, &e), HW_ETOOBIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "rule 1:"));
}

/* They leave no box, so that only the time they take is to be counted. */
static void covered_combinations_are_counted(void)
{
    static struct prefix hosts[64];
    struct firewall_rule rules[2] = {{.protocol = FIREWALL_TCP, .allow = true},
                                     {
                                         .protocol = FIREWALL_TCP,
                                         .source = {.prefixes = hosts, .n_prefixes = 64},
                                         .destination = {.prefixes = hosts, .n_prefixes = 64},
                                         .n_source_ports = FIREWALL_PORTS_MAX,
                                         .n_destination_ports = FIREWALL_PORTS_MAX,
                                     }};
    struct firewall f = {.rules = rules, .n_rules = 2};
    struct firewall_fold fold;
    for (unsigned i = 0; i < 64; i++) {
        struct ipaddr a = {.family = 4, .b = {10, 0, 0, (uint8_t)(2 * i)}};
        hosts[i] = prefix_of_host(&a);
    }
    for (unsigned i = 0; i < FIREWALL_PORTS_MAX; i++)
        rules[1].source_ports[i] = rules[1].destination_ports[i] =
            (struct firewall_ports){(uint16_t)(2 * i), (uint16_t)(2 * i)};
    CU_ASSERT_EQUAL(firewall_fold(&f, &fold, &e), HW_ETOOBIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "rule 2:"));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"folded is first match", folded_is_first_match},
        {"runs are passed by", runs_are_passed_by},
        {"covered rules have no boxes", covered_rules_have_no_boxes},
        {"fates", fates},
        {"many rules stay few layers", many_rules_stay_few_layers},
        {"too large is refused", too_large_is_refused},
        {"covered combinations are counted", covered_combinations_are_counted},
        CU_TEST_INFO_NULL,
    };
    return suite_run("firewall_fold", tests);
}
