#include "controller/cli/nouns.h"
#include "controller/cli/commands.h"
#include <string.h>

/* clang-format off */
const struct noun *const nouns[] = {
    &noun_site,
    &noun_gateway,
    &noun_connection,
    &noun_link,
    &noun_separation,
    &noun_token,
    &noun_size,
    &noun_ruleset,
    &noun_rule,
    &noun_address_group,
    &noun_telemetry,
    &noun_diag,
    &noun_operation,
    &noun_revision,
    &noun_api_key,
    &noun_audit,
    &noun_plan,
    &noun_status,
    &noun_watch,
    &noun_whoami,
    &noun_version,
    &noun_api,
    &noun_completion,
    &noun_manual,
    NULL,
};
/* clang-format on */

const struct flag nouns_by_site[] = {
    FLAG_OBJECT("site", "site_id", &noun_site, "only those of this site"),
    FLAGS_END,
};

const struct noun *nouns_find(const char *name)
{
    for (const struct noun *const *n = nouns; *n; n++)
        if (strcmp((*n)->name, name) == 0)
            return *n;
    return NULL;
}

const struct verb *nouns_verb(const struct noun *n, const char *name)
{
    for (const struct verb *v = n->verbs; v->name; v++)
        if (strcmp(v->name, name) == 0)
            return v;
    return NULL;
}

/* Flags that a kind of request has, whatever the noun. */
static const struct flag body_flags[] = {
    FLAG("file", NULL, FILE, "the JSON body instead of flags; - is standard input"),
    FLAGS_END,
};
static const struct flag guard_flags[] = {
    FLAG("if-match", NULL, ETAG, "only if the object is still at this ETag"),
    FLAG("force", NULL, SWITCH, "whatever the object is by now"),
    FLAGS_END,
};
static const struct flag show_flags[] = {
    FLAG("etag", NULL, SWITCH, "prints the ETag alone, for --if-match"),
    FLAGS_END,
};

/* The row at *i, which then counts on from the end of these rows. */
static const struct flag *at_or_beyond(const struct flag *rows, size_t *i)
{
    for (; rows && rows->name; rows++)
        if ((*i)-- == 0)
            return rows;
    return NULL;
}

const struct flag *nouns_flag_at(const struct verb *v, size_t i)
{
    const struct flag *f = at_or_beyond(v->flags, &i);
    if (!f && nouns_takes_body(v))
        f = at_or_beyond(body_flags, &i);
    if (!f && nouns_guards(v))
        f = at_or_beyond(guard_flags, &i);
    if (!f && v->arg == ARG_OBJECT && v->shows == SHOWS_DETAIL && !v->run)
        f = at_or_beyond(show_flags, &i);
    return f;
}

const struct flag *nouns_flag(const struct verb *v, const char *name, size_t len)
{
    const struct flag *f;
    for (size_t i = 0; (f = nouns_flag_at(v, i)); i++)
        if (strlen(f->name) == len && memcmp(f->name, name, len) == 0)
            return f;
    return NULL;
}

/* Whether `word` is one of the words of a text separated by spaces. */
static bool is_among(const char *words, const char *word)
{
    size_t len = strlen(word);
    while (words && *words) {
        size_t n = strcspn(words, " ");
        if (n == len && memcmp(words, word, n) == 0)
            return true;
        words += n + strspn(words + n, " ");
    }
    return false;
}

bool nouns_requires(const struct verb *v, const struct flag *f)
{
    return is_among(v->required, f->name);
}

bool nouns_takes_body(const struct verb *v)
{
    return v->method && v->flags && v->arg != ARG_WORDS && strcmp(v->method, "GET") != 0 &&
           strcmp(v->method, "DELETE") != 0;
}

bool nouns_guards(const struct verb *v)
{
    if (!v->method || v->run)
        return false;
    return strcmp(v->method, "PUT") == 0 ||
           (v->arg == ARG_OBJECT &&
            (strcmp(v->method, "PATCH") == 0 || strcmp(v->method, "DELETE") == 0));
}

/* Whether a member's name has `word` as words of its own before its end "_id". */
static bool names_noun(const char *member, const char *word)
{
    size_t len = strlen(word);
    const char *at = strstr(member, word);
    return at && (at == member || at[-1] == '_') && at[len] == '_';
}

/* "site_a_id" and "target_gateway_id" name a site and a gateway, "group_ids" address groups. */
const struct noun *nouns_of_member(const char *member)
{
    size_t len = strlen(member);
    len -= len > 0 && member[len - 1] == 's';
    if (len < 4 || memcmp(member + len - 3, "_id", 3) != 0)
        return NULL;
    for (const struct noun *const *n = nouns; *n; n++)
        if ((*n)->path && names_noun(member, (*n)->member ? (*n)->member : (*n)->name))
            return *n;
    return NULL;
}

const struct noun *nouns_of_type(const char *type)
{
    for (const struct noun *const *n = nouns; *n; n++) {
        const char *last = (*n)->path ? strrchr((*n)->path, '/') : NULL;
        if (last && strcmp(last + 1, type) == 0)
            return *n;
    }
    return NULL;
}
