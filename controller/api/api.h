/* The resources and handlers of the people's API, one file a resource; routes.c lists them all. */
#ifndef HAWSER_CONTROLLER_API_API_H
#define HAWSER_CONTROLLER_API_API_H

#include "controller/api/resource.h"

extern const struct resource sites, gateways, connections, links, enrolment_tokens, instance_sizes,
    address_groups, api_keys, rulesets, separations;

int gateways_revoke(struct app *, struct http_request *, struct http_response *, struct err *);
int openings_list(struct app *, struct http_request *, struct http_response *, struct err *);

int instance_sizes_recommend(struct app *, struct http_request *, struct http_response *,
                             struct err *);
int size_figures_create(struct app *, struct http_request *, struct http_response *, struct err *);
int size_figures_get(struct app *, struct http_request *, struct http_response *, struct err *);
int size_figures_delete(struct app *, struct http_request *, struct http_response *, struct err *);

int rules_list(struct app *, struct http_request *, struct http_response *, struct err *);
int rules_create(struct app *, struct http_request *, struct http_response *, struct err *);
int rules_replace(struct app *, struct http_request *, struct http_response *, struct err *);
int rules_get(struct app *, struct http_request *, struct http_response *, struct err *);
int rules_patch(struct app *, struct http_request *, struct http_response *, struct err *);
int rules_delete(struct app *, struct http_request *, struct http_response *, struct err *);

int encryption_policy_get(struct app *, struct http_request *, struct http_response *,
                          struct err *);
int encryption_policy_put(struct app *, struct http_request *, struct http_response *,
                          struct err *);
int encryption_policy_delete(struct app *, struct http_request *, struct http_response *,
                             struct err *);

int topology_get(struct app *, struct http_request *, struct http_response *, struct err *);
int tunnels_list(struct app *, struct http_request *, struct http_response *, struct err *);
int workers_list(struct app *, struct http_request *, struct http_response *, struct err *);
int telemetry_get(struct app *, struct http_request *, struct http_response *, struct err *);

int operations_list(struct app *, struct http_request *, struct http_response *, struct err *);
int operations_get(struct app *, struct http_request *, struct http_response *, struct err *);
int operations_stop(struct app *, struct http_request *, struct http_response *, struct err *);
int diagnostics_trace_path(struct app *, struct http_request *, struct http_response *,
                           struct err *);
int diagnostics_ping(struct app *, struct http_request *, struct http_response *, struct err *);
int diagnostics_tcp_connect(struct app *, struct http_request *, struct http_response *,
                            struct err *);

int audit_list(struct app *, struct http_request *, struct http_response *, struct err *);

int plan_preview(struct app *, struct http_request *, struct http_response *, struct err *);

int revisions_get(struct app *, struct http_request *, struct http_response *, struct err *);
int revisions_accept(struct app *, struct http_request *, struct http_response *, struct err *);

int sessions_create(struct app *, struct http_request *, struct http_response *, struct err *);
int sessions_delete(struct app *, struct http_request *, struct http_response *, struct err *);
int whoami_get(struct app *, struct http_request *, struct http_response *, struct err *);

int health_alive(struct app *, struct http_request *, struct http_response *, struct err *);
int health_ready(struct app *, struct http_request *, struct http_response *, struct err *);
int health_version(struct app *, struct http_request *, struct http_response *, struct err *);
int metrics_get(struct app *, struct http_request *, struct http_response *, struct err *);
int openapi_get(struct app *, struct http_request *, struct http_response *, struct err *);

#endif
