#include "agent/control/diag/overlay_source.h"
#include "agent/control/interfaces.h"
#include "agent/control/netlink/addr.h"
#include "agent/control/settings.h"
#include <net/if.h>

struct find {
    const struct gateway_config *config;
    int ifindex;
    uint8_t family;
    struct ipaddr found;
};

static int take_address(const struct nl_addr *a, void *arg, struct err *e)
{
    struct find *f = arg;
    (void)e;
    if (f->found.family || a->ifindex != f->ifindex || a->addr.family != f->family || !a->global ||
        a->temporary)
        return 0;
    for (size_t i = 0; i < f->config->n_site_prefixes; i++)
        if (prefix_contains(&f->config->site_prefixes[i], &a->addr))
            f->found = a->addr;
    return 0;
}

static struct ipaddr site_address(const struct agent_settings *settings,
                                  const struct gateway_config *config, uint8_t family)
{
    struct find f = {.config = config, .family = family};
    struct interface_roles roles;
    struct nl *n;
    if (nl_open(&n, NULL) < 0)
        return f.found;
    if (interfaces_roles(n, settings, &roles, NULL) == 0) {
        f.ifindex = (int)if_nametoindex(roles.site);
        if (nl_addr_each(n, take_address, &f, NULL) < 0)
            f.found = (struct ipaddr){0};
    }
    nl_close(n);
    return f.found;
}

struct ipaddr overlay_source(const struct agent_settings *settings,
                             const struct gateway_config *config, const struct ipaddr *target)
{
    struct ipaddr own = target->family == 4 ? config->overlay4 : config->overlay6;
    for (size_t i = 0; i < config->n_peers; i++)
        if (ipaddr_equal(&config->peers[i].overlay4, target) ||
            ipaddr_equal(&config->peers[i].overlay6, target))
            return own;
    struct ipaddr site = {0};
    if (settings)
        site = site_address(settings, config, target->family);
    return site.family ? site : own;
}
