#include "controller/cli/nouns.h"
#include <stdlib.h>
#include <string.h>

static const char *const actions[] = {"allow", "deny", NULL};

/* clang-format off */
#define RULESET FLAG_OBJECT("ruleset", NULL, &noun_ruleset, "that the rule stands in")
/* Members of a rule, behind what leads to it in the body. */
#define RULE(at)                                                                                   \
    FLAG("name", at "name", TEXT, "as a DNS label, unique in the ruleset"),                        \
    FLAG_WORDS("action", at "action", actions, "with a connection's first packet"),                \
    FLAG("protocol", at "protocol", TEXT, "any, tcp, udp, icmp or a number"),                      \
    FLAG("source", at "source.prefixes", LIST, "prefixes; none is any address"),                   \
    FLAG_OBJECTS("source-groups", at "source.group_ids", &noun_address_group, "address groups"),   \
    FLAG("destination", at "destination.prefixes", LIST, "prefixes; none is any address"),         \
    FLAG_OBJECTS("destination-groups", at "destination.group_ids", &noun_address_group,            \
                 "address groups"),                                                                \
    FLAG("source-ports", at "source_ports", LIST, "such as 53,8000-8099; of tcp and udp"),         \
    FLAG("destination-ports", at "destination_ports", LIST, "such as 80,443; of tcp and udp"),     \
    FLAG("log", at "log", BOOL, "logs each connection that it decides"),                           \
    FLAG("enabled", at "enabled", BOOL, "false takes it out of use"),                              \
    FLAG("description", at "description", TEXT, "for people")
/* clang-format on */

static const struct flag which[] = {
    RULESET,
    FLAGS_END,
};

static const struct flag add_flags[] = {
    RULESET,
    FLAG("position", "position", UINT, "before the rule that stands there; at the end when absent"),
    RULE("rules[]."),
    FLAGS_END,
};

static const struct flag set_flags[] = {
    RULESET,
    RULE(""),
    FLAGS_END,
};

static const struct flag move_flags[] = {
    RULESET,
    FLAG("position", "position", UINT, "where it is to stand; 1 is first"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("NO", "position", TEXT),
    COLUMN("NAME", "name", TEXT),
    COLUMN("ACTION", "action", TEXT),
    COLUMN("PROTOCOL", "protocol", TEXT),
    COLUMN_SIDE("SOURCE", "source", &noun_address_group),
    COLUMN_SIDE("DESTINATION", "destination", &noun_address_group),
    COLUMN("PORTS", "destination_ports", LIST),
    COLUMN("ENABLED", "enabled", BOOL),
    COLUMN("HITS", "counters.packets", TEXT),
    COLUMN("SEEN", "counters.observed_at", AGE),
    WIDE("SOURCE PORTS", "source_ports", LIST),
    WIDE("BYTES", "counters.bytes", BYTES),
    WIDE("LOG", "log", BOOL),
    WIDE("DESCRIPTION", "description", TEXT),
    WIDE("CHANGED", "updated_at", AGE),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

/* The ruleset is what comes back. */
static const struct column replaced_columns[] = {
    COLUMN("RULESET", "name", TEXT),
    COLUMN("RULES", "rules_total", TEXT),
    COLUMN_TALLY("GATEWAYS", "gateways", "state"),
    COLUMNS_END,
};

/* A member that is told of a rule, but is no part of it. */
static bool is_told(const char *member)
{
    static const char *const told[] = {"ruleset_id", "position",   "counters",
                                       "created_at", "updated_at", "revision"};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (strcmp(told[i], member) == 0)
            return true;
    return false;
}

static int put_member(void *arg, const struct json_at *member, struct err *e)
{
    (void)e;
    if (!is_told(member->key))
        json_put_raw(arg, member->key, json_text(member));
    return HW_OK;
}

/* What `rule list -o json` prints is an array of rules with what is told of them; it goes back as
 * it is, edited or not. */
static int shape_rules(struct cli *c, char **body)
{
    struct json_writer w;
    struct json_object *doc = NULL;
    if (json_parse(*body, strlen(*body), SIZE_MAX, &doc, NULL))
        return cli_no_memory(c);
    const struct json_at rules = json_root(doc);
    if (json_kind(&rules) != JSON_KIND_ARRAY) {
        json_free(doc);
        return CLI_OK;
    }
    json_writer_init(&w);
    json_open_array(&w, "rules");
    for (size_t i = 0; i < json_length(&rules); i++) {
        struct json_at rule = json_element(&rules, i);
        json_open_object(&w, NULL);
        (void)json_each_member(&rule, put_member, &w, NULL);
        json_close(&w);
    }
    json_close(&w);
    json_free(doc);
    free(*body);
    *body = json_finish(&w, NULL);
    return *body ? CLI_OK : cli_no_memory(c);
}

/* All need --ruleset beside what they are about. */
static const struct verb verbs[] = {
    {.name = "list",
     .summary = "Lists the rules in their order with their hits; the first that fits decides",
     .example = "rule list --ruleset branch-edge",
     .shows = SHOWS_LIST,
     .method = "GET",
     .flags = which,
     .required = "ruleset"},
    {.name = "show",
     .summary = "Shows a rule whole",
     .example = "rule show web-in --ruleset branch-edge",
     .arg = ARG_OBJECT,
     .shows = SHOWS_DETAIL,
     .method = "GET",
     .flags = which,
     .required = "ruleset"},
    {.name = "add",
     .summary = "Adds a rule, or with --file several at once, all or none",
     .example = "rule add --ruleset branch-edge --name web-in --action allow --protocol tcp "
                "--destination 10.1.1.0/24 --destination-ports 80,443",
     .shows = SHOWS_LIST,
     .method = "POST",
     .flags = add_flags,
     .required = "ruleset name action"},
    {.name = "set",
     .summary = "Changes a rule; what is not named stays",
     .example = "rule set web-in --ruleset branch-edge --source-groups partners",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "PATCH",
     .flags = set_flags,
     .required = "ruleset"},
    {.name = "move",
     .summary = "Moves a rule to another place in the order",
     .example = "rule move web-in --ruleset branch-edge --position 1",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "PATCH",
     .flags = move_flags,
     .required = "ruleset position"},
    {.name = "replace",
     .summary =
         "Replaces all rules by those of a file, such as `rule list -o json` printed, at once",
     .example = "rule replace --ruleset branch-edge --file rules.json",
     .shows = SHOWS_ROW,
     .method = "PUT",
     .flags = which,
     .required = "ruleset file",
     .columns = replaced_columns,
     .shape = shape_rules},
    {.name = "delete",
     .summary = "Deletes a rule",
     .example = "rule delete web-in --ruleset branch-edge --yes",
     .arg = ARG_OBJECT,
     .shows = SHOWS_NOTHING,
     .method = "DELETE",
     .flags = which,
     .required = "ruleset",
     .confirm = true},
    VERBS_END,
};

const struct noun noun_rule = {
    .name = "rule",
    .title = "Rules of a ruleset: which connections are allowed",
    .path = "/api/v1/rulesets/%s/rules",
    .parent = &noun_ruleset,
    .columns = columns,
    .verbs = verbs,
};
