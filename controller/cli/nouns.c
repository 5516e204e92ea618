#include "controller/cli/nouns.h"
#include "controller/cli/commands.h"
#include <string.h>

const struct noun *const nouns[] = {
    &noun_site,
    &noun_gateway,
    &noun_connection,
    &noun_link,
    &noun_token,
    &noun_size,
    &noun_telemetry,
    &noun_diag,
    &noun_operation,
    &noun_revision,
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

const struct flag *nouns_flag(const struct verb *v, const char *name, size_t len)
{
    for (const struct flag *f = v->flags; f && f->name; f++)
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

bool nouns_takes_file(const struct verb *v)
{
    return v->method && v->flags && v->arg != ARG_WORDS && strcmp(v->method, "GET") != 0;
}

/* "site_a_id" and "target_gateway_id" name a site and a gateway. */
const struct noun *nouns_of_member(const char *member)
{
    size_t len = strlen(member);
    if (len < 4 || strcmp(member + len - 3, "_id") != 0)
        return NULL;
    for (const struct noun *const *n = nouns; *n; n++) {
        size_t name_len = strlen((*n)->name);
        const char *at = strstr(member, (*n)->name);
        if ((*n)->path && at && (at == member || at[-1] == '_') && at[name_len] == '_')
            return *n;
    }
    return NULL;
}
