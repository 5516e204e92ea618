/* All nouns. */
#ifndef HAWSER_CONTROLLER_CLI_NOUNS_H
#define HAWSER_CONTROLLER_CLI_NOUNS_H

#include "controller/cli/noun.h"

extern const struct noun noun_address_group, noun_api_key, noun_audit, noun_connection, noun_diag,
    noun_gateway, noun_link, noun_operation, noun_revision, noun_rule, noun_ruleset,
    noun_separation, noun_site, noun_size, noun_telemetry, noun_token;

/* The filter that most lists have. */
extern const struct flag nouns_by_site[];

/* NULL-terminated, in the order of the help. */
extern const struct noun *const nouns[];

/* NULL: none of this name. */
const struct noun *nouns_find(const char *name);
const struct verb *nouns_verb(const struct noun *n, const char *name);
/* Flag of the verb by its name of `len` bytes, or NULL. */
const struct flag *nouns_flag(const struct verb *v, const char *name, size_t len);
/* The i-th flag of the verb: its own, then those that its kind of request has; NULL: no more. */
const struct flag *nouns_flag_at(const struct verb *v, size_t i);
bool nouns_requires(const struct verb *v, const struct flag *f);
/* The verb takes a body. */
bool nouns_takes_body(const struct verb *v);
/* The verb changes, replaces or deletes one object or list, and only if it still is what was read
 * of it. */
bool nouns_guards(const struct verb *v);
/* The noun whose id stands in a member of this name; NULL: none. */
const struct noun *nouns_of_member(const char *member);

/* The noun of the objects that a path of the API calls `type` ("sites"); NULL: none. */
const struct noun *nouns_of_type(const char *type);

#endif
