#include "agent/control/interfaces.h"
#include "agent/control/netlink/addr.h"
#include "agent/control/netlink/link.h"
#include "agent/control/netlink/route.h"
#include <stdio.h>
#include <string.h>

int interfaces_roles(struct nl *n, const struct agent_settings *s, struct interface_roles *out,
                     struct err *e)
{
    char fallback[IFNAMSIZ] = "";
    if (!s->site_interface || !s->underlay_interface) {
        int index;
        int rc = nl_route_default_interface(n, &index, e);
        if (rc == 0) {
            if (!if_indextoname((unsigned)index, fallback))
                return err_set(e, HW_EAGAIN, "the default route's interface went away");
        } else if (rc != HW_ENOTFOUND || (!s->site_interface && !s->underlay_interface)) {
            (void)err_wrap(e, "set site_interface and underlay_interface");
            return rc;
        }
    }
    const char *site = s->site_interface ? s->site_interface
                       : fallback[0]     ? fallback
                                         : s->underlay_interface;
    const char *underlay = s->underlay_interface ? s->underlay_interface
                           : fallback[0]         ? fallback
                                                 : s->site_interface;
    (void)snprintf(out->site, sizeof out->site, "%s", site);
    (void)snprintf(out->underlay, sizeof out->underlay, "%s", underlay);
    return 0;
}

struct gather {
    struct node *node;
    int index[2]; /* of node->interfaces[] */
};

static bool is_public(const struct ipaddr *a)
{
    static const char *const private_text[] = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
                                               "100.64.0.0/10", "fc00::/7"};
    for (size_t i = 0; i < sizeof private_text / sizeof *private_text; i++) {
        struct prefix p;
        if (prefix_parse(private_text[i], &p, NULL) == 0 && prefix_contains(&p, a))
            return false;
    }
    return true;
}

static int take_address(const struct nl_addr *a, void *arg, struct err *e)
{
    (void)e;
    struct gather *g = arg;
    if (!a->global || a->temporary || ipaddr_is_special(&a->addr))
        return 0;
    for (size_t i = 0; i < g->node->n_interfaces; i++) {
        struct node_interface *f = &g->node->interfaces[i];
        if (g->index[i] != a->ifindex)
            continue;
        if (f->n_addresses < NODE_ADDRESSES_MAX)
            f->addresses[f->n_addresses++] = (struct node_address){a->addr, a->len};
        if (f->role != NODE_SITE && g->node->n_endpoints < HW_ENDPOINTS_MAX)
            g->node->endpoints[g->node->n_endpoints++] =
                (struct node_endpoint){.address = a->addr,
                                       .scope = is_public(&a->addr) ? NODE_PUBLIC : NODE_PRIVATE,
                                       .reachable = true};
    }
    return 0;
}

static int take_link(struct nl *n, const char *name, enum node_role role, struct gather *g,
                     struct err *e)
{
    struct nl_link l;
    int rc = nl_link_get(n, name, &l, e);
    if (rc < 0)
        return rc;
    size_t at = g->node->n_interfaces++;
    struct node_interface *f = &g->node->interfaces[at];
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    f->role = role;
    f->mtu = l.mtu;
    g->index[at] = l.index;
    return 0;
}

static bool has_endpoint(const struct node *n, const struct ipaddr *a, size_t *at)
{
    for (size_t i = 0; i < n->n_endpoints; i++)
        if (ipaddr_equal(&n->endpoints[i].address, a)) {
            *at = i;
            return true;
        }
    return false;
}

static void add_public(struct node *n, const struct ipaddr *a)
{
    size_t at;
    if (!has_endpoint(n, a, &at) && n->n_endpoints < HW_ENDPOINTS_MAX)
        n->endpoints[n->n_endpoints++] =
            (struct node_endpoint){.address = *a, .scope = NODE_PUBLIC, .reachable = true};
}

/* Packets that are to leave as the public address must come from the one that it stands for: of
 * both kinds the planner takes the first of a family. */
static void to_front(struct node *n, size_t at)
{
    struct node_endpoint p = n->endpoints[at];
    memmove(&n->endpoints[1], &n->endpoints[0], at * sizeof *n->endpoints);
    n->endpoints[0] = p;
}

static void add_translated(struct node *n, const struct agent_settings *s,
                           const struct cloud_facts *f)
{
    struct ipaddr a;
    size_t at;
    for (size_t i = 0; i < s->public_addresses.n; i++)
        if (ipaddr_parse(s->public_addresses.v[i], &a) == 0)
            add_public(n, &a);
    size_t told = s->public_addresses.n || !f ? 0 : f->n_translations;
    for (size_t i = told; i-- > 0;)
        if (has_endpoint(n, &f->translations[i].inside, &at))
            to_front(n, at);
    for (size_t i = 0; i < told; i++)
        if (has_endpoint(n, &f->translations[i].inside, &at))
            add_public(n, &f->translations[i].outside);
}

int interfaces_read(struct nl *n, const struct agent_settings *s, const struct cloud_facts *facts,
                    struct node *out, struct err *e)
{
    struct interface_roles roles;
    int rc = interfaces_roles(n, s, &roles, e);
    if (rc < 0)
        return rc;
    struct node node = {.n_interfaces = 0};
    struct gather g = {.node = &node};
    if (strcmp(roles.site, roles.underlay) == 0) {
        rc = take_link(n, roles.site, NODE_BOTH, &g, e);
    } else {
        rc = take_link(n, roles.site, NODE_SITE, &g, e);
        if (rc == 0)
            rc = take_link(n, roles.underlay, NODE_UNDERLAY, &g, e);
    }
    if (rc == 0)
        rc = nl_addr_each(n, take_address, &g, e);
    if (rc == 0) {
        add_translated(&node, s, facts);
        *out = node;
    }
    return rc;
}
