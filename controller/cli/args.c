#include "controller/cli/args.h"
#include "controller/cli/help.h"
#include "controller/cli/nouns.h"
#include <stdio.h>
#include <string.h>

static int refuse(struct cli *c, const struct noun *n, const struct verb *v, const char *what,
                  const char *why)
{
    help_hint(c, n, v);
    return cli_fail(c, CLI_USAGE, "%s %s", what, why);
}

static bool is_truth(const char *s)
{
    return strcmp(s, "true") == 0 || strcmp(s, "false") == 0 || strcmp(s, "null") == 0;
}

/* Value of a flag at words[*i]: behind '=', or the next word. */
static const char *value_of(const struct flag *f, const char *behind, int n_words, char **words,
                            int *i)
{
    const char *next = *i + 1 < n_words ? words[*i + 1] : NULL;
    if (behind)
        return behind;
    if (f->type == FLAG_SWITCH)
        return "true";
    if (f->type == FLAG_BOOL && (!next || !is_truth(next)))
        return "true";
    if (!next || strncmp(next, "--", 2) == 0)
        return NULL;
    (*i)++;
    return next;
}

static int take_flag(struct cli *c, const struct noun *n, const struct verb *v, int n_words,
                     char **words, int *i, struct args *out)
{
    const char *word = words[*i], *name = word + 2;
    size_t len = strcspn(name, "=");
    const char *behind = name[len] == '=' ? name + len + 1 : NULL;
    const struct flag *f = nouns_flag(v, name, len);
    if (!f)
        return refuse(c, n, v, word, "is no flag of this verb");
    if (f->type == FLAG_SWITCH && behind)
        return refuse(c, n, v, word, "takes no value");
    const char *value = value_of(f, behind, n_words, words, i);
    if (!value)
        return refuse(c, n, v, word, "needs a value");
    if (out->n_flags == ARGS_FLAGS_MAX)
        return refuse(c, n, v, word, "is one flag too many");
    out->flags[out->n_flags].flag = f;
    out->flags[out->n_flags++].value = value;
    return CLI_OK;
}

static size_t operands_wanted(const struct verb *v, size_t *at_least)
{
    size_t n = 0;
    *at_least = v->arg == ARG_OBJECT ? 1 : 0;
    if (v->arg != ARG_WORDS)
        return *at_least;
    for (const char *p = v->operands; *p; p += strspn(p, " ")) {
        *at_least += *p != '[';
        p += strcspn(p, " ");
        n++;
    }
    return n;
}

static int check(struct cli *c, const struct noun *n, const struct verb *v, const struct args *a)
{
    size_t least, most = operands_wanted(v, &least);
    if (a->n_operands < least)
        return refuse(c, n, v, v->arg == ARG_OBJECT ? "NAME or ID" : v->operands, "is missing");
    if (a->n_operands > most)
        return refuse(c, n, v, a->operands[most], "is one word too many");
    if (args_value(a, "force") && args_value(a, "if-match"))
        return refuse(c, n, v, "--force", "and --if-match exclude each other");
    bool file = nouns_takes_body(v) && args_value(a, "file");
    if (file && args_has_members(a))
        return refuse(c, n, v, "--file", "and flags of the body exclude each other");
    const struct flag *f;
    for (size_t i = 0; (f = nouns_flag_at(v, i)); i++) {
        char name[64] = "--";
        if (!nouns_requires(v, f) || args_value(a, f->name) || (file && f->member))
            continue;
        strncat(name, f->name, sizeof name - 3);
        return refuse(c, n, v, name, "is missing");
    }
    if (v->method && strcmp(v->method, "PATCH") == 0 && !file && !args_has_members(a))
        return refuse(c, n, v, v->name, "needs at least one flag that says what to change");
    return CLI_OK;
}

int args_parse(struct cli *c, const struct noun *n, const struct verb *v, int n_words, char **words,
               struct args *out)
{
    bool ended = false;
    int rc = CLI_OK;
    *out = (struct args){0};
    for (int i = 0; !rc && i < n_words; i++) {
        if (!ended && strcmp(words[i], "--") == 0)
            ended = true;
        else if (!ended && strncmp(words[i], "--", 2) == 0)
            rc = take_flag(c, n, v, n_words, words, &i, out);
        else if (!ended && words[i][0] == '-' && words[i][1] != '\0')
            rc = refuse(c, n, v, words[i], "is no flag of this verb");
        else if (out->n_operands == ARGS_OPERANDS_MAX)
            rc = refuse(c, n, v, words[i], "is one word too many");
        else
            out->operands[out->n_operands++] = words[i];
    }
    return rc ? rc : check(c, n, v, out);
}

bool args_has_members(const struct args *a)
{
    for (size_t i = 0; i < a->n_flags; i++)
        if (a->flags[i].flag->member)
            return true;
    return false;
}

const char *args_value(const struct args *a, const char *flag)
{
    const char *value = NULL;
    for (size_t i = 0; i < a->n_flags; i++)
        if (strcmp(a->flags[i].flag->name, flag) == 0)
            value = a->flags[i].value;
    return value;
}
