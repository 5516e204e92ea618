#include "common/model/firewall_fold.h"
#include <stdlib.h>
#include <string.h>

#define SPLIT_MAX  4u   /* a box in more pieces than this goes to a layer of its own */
#define PIECES_MAX 256u /* at most looked at on the way there */

#define ICMPV6 58

struct range {
    fold_value low, high;
};

struct ranges {
    struct range *v;
    size_t n;
};

/* ---- ranges of a rule's sides ---- */

fold_value fold_address(const struct ipaddr *a)
{
    fold_value v = 0;
    for (unsigned i = 0; i < ipaddr_bits(a) / 8; i++)
        v = v << 8 | a->b[i];
    return v;
}

static fold_value highest(unsigned family)
{
    return family == 4 ? UINT32_MAX : ~(fold_value)0;
}

static struct range range_of(const struct prefix *p)
{
    fold_value low = fold_address(&p->addr);
    fold_value all = highest(p->addr.family);
    fold_value host = p->len == ipaddr_bits(&p->addr) ? 0 : all >> p->len;
    return (struct range){low, low | host};
}

static int cmp_range(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* Sorts them and joins those that touch. */
static void join(struct ranges *r)
{
    size_t used = 0;
    qsort(r->v, r->n, sizeof *r->v, cmp_range);
    for (size_t i = 0; i < r->n; i++) {
        struct range *last = used ? &r->v[used - 1] : NULL;
        if (!last || r->v[i].low > last->high + (last->high != ~(fold_value)0))
            r->v[used++] = r->v[i];
        else if (r->v[i].high > last->high)
            last->high = r->v[i].high;
    }
    r->n = used;
}

static void add_prefixes(struct ranges *r, unsigned family, const struct prefix *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i].addr.family == family)
            r->v[r->n++] = range_of(&p[i]);
}

/* Addresses of `family` that the side names: all of them when it names none at all. */
static int side_ranges(const struct firewall *f, const struct firewall_side *s, unsigned family,
                       struct ranges *out, struct err *e)
{
    size_t room = 1 + s->n_prefixes;
    for (size_t i = 0; i < s->n_groups; i++)
        room += f->groups[s->groups[i]].n_prefixes;
    *out = (struct ranges){.v = calloc(room, sizeof *out->v)};
    if (!out->v)
        return err_set(e, HW_ENOMEM, "out of memory");
    if (s->n_prefixes == 0 && s->n_groups == 0)
        out->v[out->n++] = (struct range){0, highest(family)};
    add_prefixes(out, family, s->prefixes, s->n_prefixes);
    for (size_t i = 0; i < s->n_groups; i++)
        add_prefixes(out, family, f->groups[s->groups[i]].prefixes,
                     f->groups[s->groups[i]].n_prefixes);
    join(out);
    return 0;
}

static size_t port_ranges(const struct firewall_ports *p, size_t n, bool ports,
                          struct range out[FIREWALL_PORTS_MAX])
{
    struct ranges r = {.v = out};
    if (n == 0 || !ports)
        out[r.n++] = (struct range){0, ports ? UINT16_MAX : 0};
    else
        for (size_t i = 0; i < n; i++)
            out[r.n++] = (struct range){p[i].first, p[i].last};
    join(&r);
    return r.n;
}

/* The protocols of a rule in one space; false: none. In the space with ports only TCP and UDP are
 * ever looked up, so that one range stands for both. */
static bool protocol_range(int protocol, const struct fold_space *s, struct range *out)
{
    bool has_ports = protocol == FIREWALL_TCP || protocol == FIREWALL_UDP;
    if (protocol == FIREWALL_ANY_PROTOCOL) {
        *out = s->ports ? (struct range){FIREWALL_TCP, FIREWALL_UDP} : (struct range){0, UINT8_MAX};
        return true;
    }
    if (protocol == FIREWALL_ICMP && s->family == 6)
        protocol = ICMPV6;
    *out = (struct range){(fold_value)protocol, (fold_value)protocol};
    return has_ports == s->ports;
}

/* ---- boxes ---- */

static bool overlap(const struct fold_box *a, const struct fold_box *b)
{
    for (unsigned d = 0; d < FOLD_DIMENSIONS; d++)
        if (a->high[d] < b->low[d] || b->high[d] < a->low[d])
            return false;
    return true;
}

static bool covers(const struct fold_box *outer, const struct fold_box *inner)
{
    for (unsigned d = 0; d < FOLD_DIMENSIONS; d++)
        if (inner->low[d] < outer->low[d] || inner->high[d] > outer->high[d])
            return false;
    return true;
}

/* What is left of `from` without `taken`, which overlaps it: at most two pieces a dimension. */
static size_t subtract(const struct fold_box *from, const struct fold_box *taken,
                       struct fold_box out[2 * FOLD_DIMENSIONS])
{
    struct fold_box rest = *from;
    size_t n = 0;
    for (unsigned d = 0; d < FOLD_DIMENSIONS; d++) {
        if (rest.low[d] < taken->low[d]) {
            out[n] = rest;
            out[n++].high[d] = taken->low[d] - 1;
            rest.low[d] = taken->low[d];
        }
        if (rest.high[d] > taken->high[d]) {
            out[n] = rest;
            out[n++].low[d] = taken->high[d] + 1;
            rest.high[d] = taken->high[d];
        }
    }
    return n;
}

struct pieces {
    struct fold_box v[PIECES_MAX];
    size_t n;
};

/* Takes one box from all pieces. False when they become too many; *p is of no use then. */
static bool pieces_without(struct pieces *p, const struct fold_box *taken)
{
    struct fold_box rest[2 * FOLD_DIMENSIONS];
    for (size_t i = p->n; i-- > 0;) {
        if (!overlap(&p->v[i], taken))
            continue;
        size_t n = subtract(&p->v[i], taken, rest);
        if (p->n - 1 + n > PIECES_MAX)
            return false;
        /* The last one moves into its place; those after i have been looked at. */
        p->v[i] = p->v[--p->n];
        memcpy(p->v + p->n, rest, n * sizeof *rest);
        p->n += n;
    }
    return true;
}

static int make_room(struct fold_space *s, struct err *e)
{
    size_t room = s->room ? 2 * s->room : FOLD_HULL;
    struct fold_box *boxes = reallocarray(s->boxes, room, sizeof *boxes);
    if (boxes)
        s->boxes = boxes;
    struct fold_box *hulls = reallocarray(s->hulls, room / FOLD_HULL, sizeof *hulls);
    if (hulls)
        s->hulls = hulls;
    if (!boxes || !hulls)
        return err_set(e, HW_ENOMEM, "out of memory");
    s->room = room;
    return 0;
}

/* The last box into the hull around it and its neighbours. */
static void widen_hull(struct fold_space *s)
{
    const struct fold_box *b = &s->boxes[s->n_boxes - 1];
    struct fold_box *hull = &s->hulls[(s->n_boxes - 1) / FOLD_HULL];
    if (s->n_boxes % FOLD_HULL == 1)
        *hull = *b;
    for (unsigned d = 0; d < FOLD_DIMENSIONS; d++) {
        if (b->low[d] < hull->low[d])
            hull->low[d] = b->low[d];
        if (b->high[d] > hull->high[d])
            hull->high[d] = b->high[d];
    }
}

static int add_box(struct firewall_fold *fold, struct fold_space *s, const struct fold_box *b,
                   struct err *e)
{
    size_t all = 0;
    for (unsigned i = 0; i < FOLD_SPACES; i++)
        all += fold->spaces[i].n_boxes;
    if (all >= FOLD_BOXES_MAX)
        return err_set(e, HW_ETOOBIG, "rule %u: more than %d combinations of addresses and ports",
                       b->rule + 1, FOLD_BOXES_MAX);
    int rc = s->n_boxes == s->room ? make_room(s, e) : 0;
    if (rc)
        return rc;
    s->boxes[s->n_boxes++] = *b;
    widen_hull(s);
    if (b->layer >= s->layers)
        s->layers = b->layer + 1;
    return 0;
}

/* The next of the first *i boxes, going down, that lies over `b`; false: none. Rules that stand
 * together are mostly about the same few addresses, so that whole runs of them are passed by. */
static bool earlier_over(const struct fold_space *s, const struct fold_box *b, size_t *i,
                         uint64_t *compared)
{
    while (*i > 0) {
        size_t run = (*i - 1) / FOLD_HULL;
        ++*compared;
        if (!overlap(b, &s->hulls[run])) {
            *i = run * FOLD_HULL;
            continue;
        }
        while (*i > run * FOLD_HULL) {
            ++*compared;
            if (overlap(b, &s->boxes[--*i]))
                return true;
        }
    }
    return false;
}

/* One more combination is looked at. The budget is for the whole ruleset: nobody who writes rules
 * may hold up everybody else. */
static int spend(struct firewall_fold *fold, const struct fold_box *b, struct err *e)
{
    if (++fold->tried <= FOLD_TRIES_MAX && fold->compared <= FOLD_COMPARED_MAX)
        return 0;
    return err_set(
        e, HW_ETOOBIG,
        "rule %u: the rules up to it combine too many addresses and ports with each other; "
        "use fewer or wider ones",
        b->rule + 1);
}

/* Adds what earlier boxes leave of `b`. They are taken from it from the last to the first: rules go
 * from narrow to wide, and the widest leaves the fewest pieces. */
static int fold_in(struct firewall_fold *fold, struct fold_space *s, struct fold_box *b,
                   struct pieces *p, struct err *e)
{
    unsigned below = 0;
    bool whole = false;
    uint32_t by = 0;
    int rc = spend(fold, b, e);
    if (rc)
        return rc;
    p->v[0] = *b;
    p->n = 1;
    for (size_t i = s->n_boxes; p->n > 0 && earlier_over(s, b, &i, &fold->compared);) {
        const struct fold_box *earlier = &s->boxes[i];
        fold->compared += p->n;
        if (earlier->layer >= below)
            below = earlier->layer + 1;
        if (earlier->rule > by)
            by = earlier->rule;
        if (covers(earlier, b))
            p->n = 0;
        else if (!whole)
            whole = !pieces_without(p, earlier);
    }
    if (p->n == 0) {
        if (by > fold->rules[b->rule].by)
            fold->rules[b->rule].by = by;
        return 0;
    }
    fold->rules[b->rule].fate = FOLD_MET;
    if (whole || (p->n > SPLIT_MAX && below < FOLD_LAYERS_MAX)) {
        b->layer = below;
        if (below >= FOLD_LAYERS_MAX)
            return err_set(e, HW_ETOOBIG, "rule %u: rules lie over each other %u deep, at most %d",
                           b->rule + 1, below + 1, FOLD_LAYERS_MAX);
        return add_box(fold, s, b, e);
    }
    for (size_t i = 0; i < p->n && !rc; i++)
        rc = add_box(fold, s, &p->v[i], e);
    return rc;
}

/* ---- rules ---- */

static void set_range(struct fold_box *b, enum fold_dimension d, const struct range *r)
{
    b->low[d] = r->low;
    b->high[d] = r->high;
}

static int fold_ports(struct firewall_fold *fold, struct fold_space *s,
                      const struct firewall_rule *r, const struct fold_box *addresses,
                      struct pieces *p, struct err *e)
{
    struct range from[FIREWALL_PORTS_MAX], to[FIREWALL_PORTS_MAX];
    size_t n_from = port_ranges(r->source_ports, r->n_source_ports, s->ports, from);
    size_t n_to = port_ranges(r->destination_ports, r->n_destination_ports, s->ports, to);
    int rc = 0;
    if (s->ports && r->n_source_ports)
        s->source_ports = true;
    for (size_t i = 0; i < n_from && !rc; i++)
        for (size_t k = 0; k < n_to && !rc; k++) {
            struct fold_box b = *addresses;
            set_range(&b, FOLD_SOURCE_PORT, &from[i]);
            set_range(&b, FOLD_DESTINATION_PORT, &to[k]);
            rc = fold_in(fold, s, &b, p, e);
        }
    return rc;
}

static int fold_rule(struct firewall_fold *fold, struct fold_space *s, const struct firewall *f,
                     uint32_t index, struct pieces *p, struct err *e)
{
    const struct firewall_rule *r = &f->rules[index];
    struct ranges from = {0}, to = {0};
    struct fold_box b = {.rule = index};
    struct range protocols;
    if (!protocol_range(r->protocol, s, &protocols))
        return 0;
    set_range(&b, FOLD_PROTOCOL, &protocols);
    int rc = side_ranges(f, &r->source, s->family, &from, e);
    rc = rc ? rc : side_ranges(f, &r->destination, s->family, &to, e);
    if (!rc && from.n && to.n && fold->rules[index].fate == FOLD_EMPTY)
        fold->rules[index].fate = FOLD_COVERED;
    for (size_t i = 0; i < from.n && !rc; i++)
        for (size_t k = 0; k < to.n && !rc; k++) {
            set_range(&b, FOLD_SOURCE, &from.v[i]);
            set_range(&b, FOLD_DESTINATION, &to.v[k]);
            rc = fold_ports(fold, s, r, &b, p, e);
        }
    free(from.v);
    free(to.v);
    return rc;
}

int firewall_fold(const struct firewall *f, struct firewall_fold *out, struct err *e)
{
    *out = (struct firewall_fold){
        .spaces = {{.family = 4, .ports = true},
                   {.family = 4},
                   {.family = 6, .ports = true},
                   {.family = 6}},
        .n_rules = f->n_rules,
        .rules = calloc(f->n_rules ? f->n_rules : 1, sizeof *out->rules),
    };
    struct pieces *p = malloc(sizeof *p);
    int rc = out->rules && p ? 0 : err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < f->n_rules && !rc; i++) {
        out->rules[i].fate = FOLD_EMPTY;
        for (unsigned k = 0; k < FOLD_SPACES && !rc; k++)
            rc = fold_rule(out, &out->spaces[k], f, (uint32_t)i, p, e);
    }
    free(p);
    if (rc)
        firewall_fold_done(out);
    return rc;
}

void firewall_fold_done(struct firewall_fold *fold)
{
    for (unsigned i = 0; i < FOLD_SPACES; i++) {
        free(fold->spaces[i].boxes);
        free(fold->spaces[i].hulls);
    }
    free(fold->rules);
    *fold = (struct firewall_fold){0};
}
