/* The handlers of the people's API, one file a resource; routes.c lists them all. */
#ifndef HAWSER_CONTROLLER_API_API_H
#define HAWSER_CONTROLLER_API_API_H

#include "controller/http/router.h"

int sites_list(struct app *, struct http_request *, struct http_response *, struct err *);
int sites_create(struct app *, struct http_request *, struct http_response *, struct err *);
int sites_get(struct app *, struct http_request *, struct http_response *, struct err *);
int sites_patch(struct app *, struct http_request *, struct http_response *, struct err *);
int sites_delete(struct app *, struct http_request *, struct http_response *, struct err *);

int gateways_list(struct app *, struct http_request *, struct http_response *, struct err *);
int gateways_create(struct app *, struct http_request *, struct http_response *, struct err *);
int gateways_get(struct app *, struct http_request *, struct http_response *, struct err *);
int gateways_patch(struct app *, struct http_request *, struct http_response *, struct err *);
int gateways_delete(struct app *, struct http_request *, struct http_response *, struct err *);
int gateways_revoke(struct app *, struct http_request *, struct http_response *, struct err *);
int telemetry_list(struct app *, struct http_request *, struct http_response *, struct err *);

int connections_list(struct app *, struct http_request *, struct http_response *, struct err *);
int connections_create(struct app *, struct http_request *, struct http_response *, struct err *);
int connections_get(struct app *, struct http_request *, struct http_response *, struct err *);
int connections_patch(struct app *, struct http_request *, struct http_response *, struct err *);
int connections_delete(struct app *, struct http_request *, struct http_response *, struct err *);

int links_list(struct app *, struct http_request *, struct http_response *, struct err *);
int links_get(struct app *, struct http_request *, struct http_response *, struct err *);
int links_patch(struct app *, struct http_request *, struct http_response *, struct err *);

int enrolment_tokens_list(struct app *, struct http_request *, struct http_response *,
                          struct err *);
int enrolment_tokens_create(struct app *, struct http_request *, struct http_response *,
                            struct err *);
int enrolment_tokens_get(struct app *, struct http_request *, struct http_response *, struct err *);
int enrolment_tokens_patch(struct app *, struct http_request *, struct http_response *,
                           struct err *);
int enrolment_tokens_delete(struct app *, struct http_request *, struct http_response *,
                            struct err *);

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
