#include "common/model/node.h"
#include "common/json.h"
#include <stdio.h>
#include <string.h>

#define MTU_MIN 68u /* RFC 791 */
#define MTU_MAX 65535u

static const char *const roles[] = {"site", "underlay", "both", NULL};
static const char *const scopes[] = {"private", "public", NULL};

const char *node_role_name(enum node_role r)
{
    return roles[r];
}

const char *node_scope_name(enum node_scope s)
{
    return scopes[s];
}

void node_interface_put(struct json_writer *w, const struct node_interface *i)
{
    json_open_object(w, NULL);
    json_put_str(w, "name", i->name);
    json_put_str(w, "role", roles[i->role]);
    json_put_uint(w, "mtu", i->mtu);
    json_open_array(w, "addresses");
    for (size_t k = 0; k < i->n_addresses; k++) {
        const struct prefix p = {.addr = i->addresses[k].addr, .len = i->addresses[k].len};
        json_put_prefix(w, NULL, &p);
    }
    json_close(w);
    json_close(w);
}

void node_endpoint_put(struct json_writer *w, const struct node_endpoint *p)
{
    json_open_object(w, NULL);
    json_put_ip(w, "address", &p->address);
    json_put_uint(w, "family", p->address.family);
    json_put_str(w, "scope", scopes[p->scope]);
    json_put_bool(w, "reachable", p->reachable);
    json_close(w);
}

void node_put(struct json_writer *w, const struct node *n)
{
    json_open_array(w, "interfaces");
    for (size_t i = 0; i < n->n_interfaces; i++)
        node_interface_put(w, &n->interfaces[i]);
    json_close(w);
    json_open_array(w, "endpoints");
    for (size_t i = 0; i < n->n_endpoints; i++)
        node_endpoint_put(w, &n->endpoints[i]);
    json_close(w);
}

/* "ADDR/LEN" whose host bits may be set: an interface's own address. */
static int get_address(const struct json_at *at, struct node_address *out, struct err *e)
{
    const char *s;
    int rc = json_as_str(at, PREFIX_TEXT_MAX - 1, &s, e);
    if (rc)
        return rc;
    char text[PREFIX_TEXT_MAX];
    unsigned len = 0;
    char beyond;
    memcpy(text, s, strlen(s) + 1);
    char *slash = strchr(text, '/');
    if (slash)
        *slash = '\0';
    if (!slash || strspn(slash + 1, "0123456789") != strlen(slash + 1) ||
        sscanf(slash + 1, "%3u%c", &len, &beyond) != 1 || ipaddr_parse(text, &out->addr) != HW_OK ||
        len > ipaddr_bits(&out->addr))
        return json_refuse(at, e, "an address with its prefix length is expected");
    out->len = (uint8_t)len;
    return HW_OK;
}

static int get_interface(const struct json_at *at, struct node_interface *i, struct err *e)
{
    static const char *const members[] = {"name", "role", "mtu", "addresses", NULL};
    struct json_at a;
    unsigned role = 0;
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_text(at, "name", i->name, sizeof i->name, e);
    rc = rc ? rc : json_get_enum(at, "role", roles, &role, e);
    i->role = (enum node_role)role;
    rc = rc ? rc : json_get_u32(at, "mtu", MTU_MIN, MTU_MAX, &i->mtu, e);
    rc = rc ? rc : json_get_array(at, "addresses", NODE_ADDRESSES_MAX, &a, &i->n_addresses, e);
    for (size_t k = 0; !rc && k < i->n_addresses; k++) {
        struct json_at v = json_element(&a, k);
        rc = get_address(&v, &i->addresses[k], e);
    }
    return rc;
}

int node_endpoint_get(const struct json_at *at, struct node_endpoint *out, struct err *e)
{
    static const char *const members[] = {"address", "family", "scope", "reachable", NULL};
    struct json_at address;
    unsigned scope = 0;
    uint64_t family = 0;
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_member(at, "address", &address, e);
    rc = rc ? rc : json_as_ip(&address, &out->address, e);
    rc = rc ? rc : json_get_uint(at, "family", 4, 6, &family, e);
    rc = rc ? rc : json_get_enum(at, "scope", scopes, &scope, e);
    rc = rc ? rc : json_get_bool(at, "reachable", &out->reachable, e);
    if (rc)
        return rc;
    out->scope = (enum node_scope)scope;
    if (family != out->address.family)
        return json_refuse(&address, e, "is not of family %u", (unsigned)family);
    if (ipaddr_is_special(&out->address))
        return json_refuse(&address, e, "nobody can reach this address");
    return HW_OK;
}

int node_get(const struct json_at *at, struct node *out, struct err *e)
{
    struct json_at a;
    struct node n = {0};
    int rc = json_get_array(at, "interfaces", HW_INTERFACES_MAX, &a, &n.n_interfaces, e);
    for (size_t i = 0; !rc && i < n.n_interfaces; i++) {
        struct json_at v = json_element(&a, i);
        rc = get_interface(&v, &n.interfaces[i], e);
    }
    rc = rc ? rc : json_get_array(at, "endpoints", HW_ENDPOINTS_MAX, &a, &n.n_endpoints, e);
    for (size_t i = 0; !rc && i < n.n_endpoints; i++) {
        struct json_at v = json_element(&a, i);
        rc = node_endpoint_get(&v, &n.endpoints[i], e);
        for (size_t k = 0; !rc && k < i; k++)
            if (ipaddr_equal(&n.endpoints[k].address, &n.endpoints[i].address))
                rc = json_refuse(&v, e, "stands twice");
    }
    if (!rc)
        *out = n;
    return rc;
}

static void put_or_null(struct json_writer *w, const char *key, const char *s)
{
    json_put_str(w, key, s[0] ? s : NULL);
}

void node_cloud_put(struct json_writer *w, const struct node_cloud *c)
{
    if (!c->provider[0] && !c->region[0] && !c->size[0]) {
        json_put_null(w, "cloud");
        return;
    }
    json_open_object(w, "cloud");
    put_or_null(w, "provider", c->provider);
    put_or_null(w, "region", c->region);
    put_or_null(w, "size", c->size);
    json_close(w);
}

static int get_or_null(const struct json_at *at, const char *key, char out[HW_NAME_MAX + 1],
                       struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return !rc && m.value ? json_as_text(&m, out, HW_NAME_MAX + 1, e) : rc;
}

int node_cloud_get(const struct json_at *at, struct node_cloud *out, struct err *e)
{
    static const char *const members[] = {"provider", "region", "size", NULL};
    struct node_cloud c = {.provider = ""};
    struct json_at o;
    if (!json_has(at, "cloud")) {
        *out = c;
        return 0;
    }
    int rc = json_get_object(at, "cloud", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : get_or_null(&o, "provider", c.provider, e);
    rc = rc ? rc : get_or_null(&o, "region", c.region, e);
    rc = rc ? rc : get_or_null(&o, "size", c.size, e);
    if (!rc)
        *out = c;
    return rc;
}

bool node_cloud_equal(const struct node_cloud *a, const struct node_cloud *b)
{
    return strcmp(a->provider, b->provider) == 0 && strcmp(a->region, b->region) == 0 &&
           strcmp(a->size, b->size) == 0;
}
