#include "controller/cli/warnings.h"
#include "controller/cli/cell.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/visible.h"
#include <string.h>

#define WORD_WIDTH 11

/* "PLAINTEXT   connection vaults ": the word alone has the colour. */
static void put_head(struct cli *c, enum cell_colour colour, const char *word, const char *noun,
                     const struct json_at *item)
{
    size_t used = strlen(word);
    strbuf_printf(&c->out, "%s%s%s%*s ", cell_begin(c, colour), word, cell_end(c, colour),
                  used < WORD_WIDTH ? (int)(WORD_WIDTH - used) : 0, "");
    strbuf_printf(&c->out, "%s ", noun);
    visible_text(&c->out, json_plain_at(item, "name"));
}

static void put_permission(struct cli *c, const struct json_at *connection)
{
    struct json_at ends;
    const char *in_effect = json_plain_at(connection, "permission.in_effect");
    bool plain = strcmp(json_plain_at(connection, "permission.suite"), "none") == 0;
    put_head(c, COLOUR_BAD, plain ? "PLAINTEXT" : "NOT SECRET", noun_connection.name, connection);
    if (json_find(connection, "permission.ends_at", &ends) && cell_age(&ends) != INT64_MIN) {
        strbuf_puts(&c->out, " for ");
        cell_span(&c->out, -cell_age(&ends));
    }
    strbuf_puts(&c->out, strcmp(in_effect, "true") == 0 ? ", in effect" : ", not in effect");
    strbuf_puts(&c->out, ": ");
    visible_text(&c->out, json_plain_at(connection, "permission.reason"));
    strbuf_puts(&c->out, "\n");
}

static void put_permissions(struct cli *c, const struct json_at *connections)
{
    for (size_t i = 0; i < json_length(connections); i++) {
        struct json_at connection = json_element(connections, i);
        if (json_plain_at(&connection, "permission")[0])
            put_permission(c, &connection);
    }
}

/* How a ruleset stands on one gateway, unless it is well, or nobody knows of that gateway at all.
 */
static void put_standing(struct cli *c, const struct json_at *ruleset, const struct json_at *at)
{
    const char *state = json_plain_at(at, "state");
    bool failed = strcmp(state, "failed") == 0;
    if (!failed && strcmp(state, "pending") != 0)
        return;
    put_head(c, failed ? COLOUR_BAD : COLOUR_WARN, "firewall", noun_ruleset.name, ruleset);
    strbuf_puts(&c->out, failed ? " failed at " : " is pending at ");
    visible_text(&c->out, names_of(c, &noun_gateway, json_plain_at(at, "gateway_id")));
    strbuf_puts(&c->out, json_plain_at(at, "reason")[0] ? ": " : "");
    visible_text(&c->out, json_plain_at(at, "reason"));
    strbuf_puts(&c->out, "\n");
}

static void put_rulesets(struct cli *c, const struct json_at *rulesets)
{
    for (size_t i = 0; i < json_length(rulesets); i++) {
        struct json_at ruleset = json_element(rulesets, i), gateways = json_root(NULL);
        (void)json_find(&ruleset, "gateways", &gateways);
        if (strcmp(json_plain_at(&ruleset, "enabled"), "false") == 0) {
            put_head(c, COLOUR_WARN, "firewall", noun_ruleset.name, &ruleset);
            strbuf_puts(&c->out, " is switched off: everything passes\n");
            continue;
        }
        for (size_t k = 0; k < json_length(&gateways); k++) {
            struct json_at at = json_element(&gateways, k);
            put_standing(c, &ruleset, &at);
        }
    }
}

void warnings_put(struct cli *c, const struct json_at *doc)
{
    struct json_at items;
    if (json_find(doc, "connections", &items))
        put_permissions(c, &items);
    if (json_find(doc, "rulesets", &items))
        put_rulesets(c, &items);
}

unsigned warnings_failed(const struct json_at *doc)
{
    struct json_at rulesets = json_root(NULL), gateways;
    unsigned n = 0;
    (void)json_find(doc, "rulesets", &rulesets);
    for (size_t i = 0; i < json_length(&rulesets); i++) {
        struct json_at ruleset = json_element(&rulesets, i);
        if (!json_find(&ruleset, "gateways", &gateways))
            continue;
        for (size_t k = 0; k < json_length(&gateways); k++) {
            struct json_at at = json_element(&gateways, k);
            n += strcmp(json_plain_at(&at, "state"), "failed") == 0;
        }
    }
    return n;
}
