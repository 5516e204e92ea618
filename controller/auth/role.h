/* Roles of the people's API: each may do what the ones before it may (docs/operations.md). */
#ifndef HAWSER_CONTROLLER_AUTH_ROLE_H
#define HAWSER_CONTROLLER_AUTH_ROLE_H

#include "controller/http/request.h"
#include "controller/store/api_key.h"

/* Is it a role that a person's credentials have? */
bool role_is_person(enum http_role r);
enum http_role role_of_key(const struct store_api_key *k);
/* May who has `have` ask for a route of `needed`? Both are roles of persons. */
bool role_allows(enum http_role have, enum http_role needed);
const char *role_name(enum http_role r);

/* Names of enum api_key_role in its order, for json_get_enum. */
extern const char *const role_names[];

#endif
