#include "controller/auth/role.h"

const char *const role_names[] = {"viewer", "operator", "admin", NULL};

bool role_is_person(enum http_role r)
{
    return r == ROLE_VIEWER || r == ROLE_OPERATOR || r == ROLE_ADMIN;
}

enum http_role role_of_key(const struct store_api_key *k)
{
    static const enum http_role roles[] = {
        [API_KEY_VIEWER] = ROLE_VIEWER,
        [API_KEY_OPERATOR] = ROLE_OPERATOR,
        [API_KEY_ADMIN] = ROLE_ADMIN,
    };
    return roles[k->role];
}

bool role_allows(enum http_role have, enum http_role needed)
{
    return role_is_person(have) && role_is_person(needed) && have >= needed;
}

const char *role_name(enum http_role r)
{
    static const char *const names[] = {
        [ROLE_PUBLIC] = "public", [ROLE_VIEWER] = "viewer", [ROLE_OPERATOR] = "operator",
        [ROLE_ADMIN] = "admin",   [ROLE_AGENT] = "agent",   [ROLE_AGENT_RENEW] = "agent-renew",
    };
    return names[r];
}
