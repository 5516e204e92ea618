/* Handlers of the agents' API (docs/protocols.md, "Agents' API"). The route table is api/routes.c.
 */
#ifndef HAWSER_CONTROLLER_AGENT_API_AGENT_API_H
#define HAWSER_CONTROLLER_AGENT_API_AGENT_API_H

#include "controller/http/router.h"

struct app;

int agent_api_ca(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e);
int agent_api_enrol(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e);
int agent_api_renew(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e);
int agent_api_poll(struct app *app, struct http_request *req, struct http_response *res,
                   struct err *e);
int agent_api_config(struct app *app, struct http_request *req, struct http_response *res,
                     struct err *e);
int agent_api_denials(struct app *app, struct http_request *req, struct http_response *res,
                      struct err *e);
int agent_api_operation(struct app *app, struct http_request *req, struct http_response *res,
                        struct err *e);
int agent_api_report(struct app *app, struct http_request *req, struct http_response *res,
                     struct err *e);

#endif
