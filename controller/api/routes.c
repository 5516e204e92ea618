#include "controller/api/routes.h"
#include "common/model/command.h"
#include "common/model/report.h"
#include "controller/agent_api/agent_api.h"
#include "controller/api/api.h"

#define BODY      (64u << 10) /* an object */
#define SMALL     1024        /* nothing, or {} */
#define PLAN_BODY (1u << 20)  /* many objects */
#define V1        "/api/v1"
#define AGENT     "/agent/v1"

/* clang-format off */
#define RESOURCE(path, r)                                                               \
    {HTTP_PEOPLE, HTTP_GET,    V1 path,         ROLE_VIEWER,   resource_list,   0, &r},    \
    {HTTP_PEOPLE, HTTP_POST,   V1 path,         ROLE_OPERATOR, resource_create, BODY, &r}, \
    {HTTP_PEOPLE, HTTP_GET,    V1 path "/{id}", ROLE_VIEWER,   resource_get,    0, &r},    \
    {HTTP_PEOPLE, HTTP_PATCH,  V1 path "/{id}", ROLE_OPERATOR, resource_patch,  BODY, &r}, \
    {HTTP_PEOPLE, HTTP_DELETE, V1 path "/{id}", ROLE_OPERATOR, resource_delete, 0, &r}

const struct http_route routes[] = {
    {HTTP_PEOPLE, HTTP_GET,    "/healthz",                       ROLE_PUBLIC,   health_alive,            0, NULL},
    {HTTP_PEOPLE, HTTP_GET,    "/readyz",                        ROLE_PUBLIC,   health_ready,            0, NULL},
    {HTTP_PEOPLE, HTTP_GET,    "/version",                       ROLE_PUBLIC,   health_version,          0, NULL},
    {HTTP_PEOPLE, HTTP_GET,    "/metrics",                       ROLE_VIEWER,   metrics_get,             0, NULL},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/openapi.json",               ROLE_PUBLIC,   openapi_get,             0, NULL},

    RESOURCE("/sites", sites),

    RESOURCE("/gateways", gateways),
    {HTTP_PEOPLE, HTTP_POST,   V1 "/gateways/{id}/revoke",       ROLE_ADMIN,    gateways_revoke,         SMALL, &gateways},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/gateways/{id}/openings",     ROLE_VIEWER,   openings_list,           0, NULL},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/gateways/{id}/workers",      ROLE_VIEWER,   workers_list,            0, NULL},

    RESOURCE("/connections", connections),
    {HTTP_PEOPLE, HTTP_GET,    V1 "/connections/{id}/encryption-policy", ROLE_VIEWER,   encryption_policy_get,    0, NULL},
    {HTTP_PEOPLE, HTTP_PUT,    V1 "/connections/{id}/encryption-policy", ROLE_ADMIN,    encryption_policy_put,    BODY, NULL},
    {HTTP_PEOPLE, HTTP_DELETE, V1 "/connections/{id}/encryption-policy", ROLE_OPERATOR, encryption_policy_delete, 0, NULL},

    RESOURCE("/rulesets", rulesets),
    {HTTP_PEOPLE, HTTP_GET,    V1 "/rulesets/{id}/rules",        ROLE_VIEWER,   rules_list,              0, NULL},
    {HTTP_PEOPLE, HTTP_POST,   V1 "/rulesets/{id}/rules",        ROLE_OPERATOR, rules_create,            PLAN_BODY, NULL},
    {HTTP_PEOPLE, HTTP_PUT,    V1 "/rulesets/{id}/rules",        ROLE_OPERATOR, rules_replace,           PLAN_BODY, NULL},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/rulesets/{id}/rules/{rule_id}", ROLE_VIEWER,   rules_get,             0, NULL},
    {HTTP_PEOPLE, HTTP_PATCH,  V1 "/rulesets/{id}/rules/{rule_id}", ROLE_OPERATOR, rules_patch,           BODY, NULL},
    {HTTP_PEOPLE, HTTP_DELETE, V1 "/rulesets/{id}/rules/{rule_id}", ROLE_OPERATOR, rules_delete,          0, NULL},
    RESOURCE("/address-groups", address_groups),

    {HTTP_PEOPLE, HTTP_GET,    V1 "/links",                      ROLE_VIEWER,   resource_list,           0, &links},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/links/{id}",                 ROLE_VIEWER,   resource_get,            0, &links},
    {HTTP_PEOPLE, HTTP_PATCH,  V1 "/links/{id}",                 ROLE_OPERATOR, resource_patch,          BODY, &links},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/links/{id}/tunnels",         ROLE_VIEWER,   tunnels_list,            0, NULL},

    {HTTP_PEOPLE, HTTP_GET,    V1 "/separations",                ROLE_VIEWER,   resource_list,           0, &separations},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/separations/{id}",           ROLE_VIEWER,   resource_get,            0, &separations},
    {HTTP_PEOPLE, HTTP_DELETE, V1 "/separations/{id}",           ROLE_ADMIN,    resource_delete,         0, &separations},

    {HTTP_PEOPLE, HTTP_GET,    V1 "/instance-sizes",             ROLE_VIEWER,   resource_list,           0, &instance_sizes},
    {HTTP_PEOPLE, HTTP_POST,   V1 "/instance-sizes",             ROLE_ADMIN,    resource_create,         BODY, &instance_sizes},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/instance-sizes/recommend",   ROLE_VIEWER,   instance_sizes_recommend, 0, NULL},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/instance-sizes/{id}",        ROLE_VIEWER,   resource_get,            0, &instance_sizes},
    {HTTP_PEOPLE, HTTP_DELETE, V1 "/instance-sizes/{id}",        ROLE_ADMIN,    resource_delete,         0, &instance_sizes},
    {HTTP_PEOPLE, HTTP_POST,   V1 "/instance-sizes/{id}/figures", ROLE_OPERATOR, size_figures_create,     BODY, NULL},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/instance-sizes/{id}/figures/{figure_id}", ROLE_VIEWER,   size_figures_get, 0, NULL},
    {HTTP_PEOPLE, HTTP_DELETE, V1 "/instance-sizes/{id}/figures/{figure_id}", ROLE_OPERATOR, size_figures_delete, 0, NULL},

    {HTTP_PEOPLE, HTTP_GET,    V1 "/telemetry",                  ROLE_VIEWER,   telemetry_get,           0, NULL},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/topology",                   ROLE_VIEWER,   topology_get,            0, NULL},

    {HTTP_PEOPLE, HTTP_POST,   V1 "/plan",                       ROLE_OPERATOR, plan_preview,            PLAN_BODY, NULL},

    {HTTP_PEOPLE, HTTP_GET,    V1 "/revisions",                  ROLE_VIEWER,   revisions_get,           0, NULL},
    {HTTP_PEOPLE, HTTP_POST,   V1 "/revisions/accept",           ROLE_ADMIN,    revisions_accept,        SMALL, NULL},

    RESOURCE("/enrolment-tokens", enrolment_tokens),

    {HTTP_PEOPLE, HTTP_GET,    V1 "/api-keys",                   ROLE_ADMIN,    resource_list,           0, &api_keys},
    {HTTP_PEOPLE, HTTP_POST,   V1 "/api-keys",                   ROLE_ADMIN,    resource_create,         SMALL, &api_keys},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/api-keys/{id}",              ROLE_ADMIN,    resource_get,            0, &api_keys},
    {HTTP_PEOPLE, HTTP_DELETE, V1 "/api-keys/{id}",              ROLE_ADMIN,    resource_delete,         0, &api_keys},

    {HTTP_PEOPLE, HTTP_GET,    V1 "/audit",                      ROLE_ADMIN,    audit_list,              0, NULL},

    {HTTP_PEOPLE, HTTP_POST,   V1 "/sessions",                   ROLE_PUBLIC,   sessions_create,         SMALL, NULL},
    {HTTP_PEOPLE, HTTP_DELETE, V1 "/sessions/current",           ROLE_VIEWER,   sessions_delete,         0, NULL},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/whoami",                     ROLE_VIEWER,   whoami_get,              0, NULL},

    {HTTP_PEOPLE, HTTP_GET,    V1 "/operations",                 ROLE_VIEWER,   operations_list,         0, NULL},
    {HTTP_PEOPLE, HTTP_GET,    V1 "/operations/{id}",            ROLE_VIEWER,   operations_get,          0, NULL},
    {HTTP_PEOPLE, HTTP_POST,   V1 "/operations/{id}/cancel",     ROLE_OPERATOR, operations_stop,         SMALL, NULL},
    {HTTP_PEOPLE, HTTP_POST,   V1 "/diagnostics/trace-path",     ROLE_OPERATOR, diagnostics_trace_path,  BODY, NULL},
    {HTTP_PEOPLE, HTTP_POST,   V1 "/diagnostics/ping",           ROLE_OPERATOR, diagnostics_ping,        BODY, NULL},
    {HTTP_PEOPLE, HTTP_POST,   V1 "/diagnostics/tcp-connect",    ROLE_OPERATOR, diagnostics_tcp_connect, BODY, NULL},

    {HTTP_AGENTS, HTTP_GET,    AGENT "/ca",                      ROLE_PUBLIC,   agent_api_ca,            0, NULL},
    {HTTP_AGENTS, HTTP_POST,   AGENT "/enrol",                   ROLE_PUBLIC,   agent_api_enrol,         BODY, NULL},
    {HTTP_AGENTS, HTTP_POST,   AGENT "/renew",                   ROLE_AGENT_RENEW, agent_api_renew,    BODY, NULL},
    {HTTP_AGENTS, HTTP_GET,    AGENT "/poll",                    ROLE_AGENT,    agent_api_poll,          0, NULL},
    {HTTP_AGENTS, HTTP_GET,    AGENT "/config",                  ROLE_AGENT,    agent_api_config,        0, NULL},
    {HTTP_AGENTS, HTTP_GET,    AGENT "/denials",                 ROLE_AGENT,    agent_api_denials,       0, NULL},
    {HTTP_AGENTS, HTTP_POST,   AGENT "/operations/{id}",         ROLE_AGENT,    agent_api_operation,     COMMAND_REPORT_MAX, NULL},
    {HTTP_AGENTS, HTTP_POST,   AGENT "/report",                  ROLE_AGENT,    agent_api_report,        REPORT_BODY_MAX, NULL},
};
/* clang-format on */
const size_t routes_count = sizeof routes / sizeof *routes;
