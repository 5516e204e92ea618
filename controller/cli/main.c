#include "controller/cli/args.h"
#include "controller/cli/help.h"
#include "controller/cli/nouns.h"
#include "controller/cli/options.h"
#include "controller/cli/verbs.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The nearest noun or verb by its first letters, for a word that is none. */
static bool is_near(const char *word, const char *name)
{
    size_t n = strlen(name) < 3 ? strlen(name) : 3;
    return n > 0 && strncmp(word, name, n) == 0;
}

static int unknown_noun(struct cli *c, const char *word)
{
    for (const struct noun *const *n = nouns; *n; n++)
        if (is_near(word, (*n)->name))
            cli_hint(c, "hawserctl %s --help", (*n)->name);
    cli_hint(c, "hawserctl --help");
    return cli_fail(c, CLI_USAGE, "%s: no such noun", word);
}

/* The verb that the words name; *used of them did. */
static int find_verb(struct cli *c, const struct noun *n, int n_words, char **words,
                     const struct verb **out, int *used)
{
    *used = 1;
    *out = nouns_verb(n, "");
    if (*out)
        return CLI_OK;
    help_hint(c, n, NULL);
    if (n_words < 2 || words[1][0] == '-')
        return cli_fail(c, CLI_USAGE, "%s: which verb?", n->name);
    *out = nouns_verb(n, words[1]);
    *used = 2;
    return *out ? CLI_OK : cli_fail(c, CLI_USAGE, "%s %s: no such verb", n->name, words[1]);
}

static int run(struct cli *c, const struct options *o, int n_words, char **words)
{
    const struct noun *n = nouns_find(words[0]);
    const struct verb *v = NULL;
    struct args a;
    int used, rc = n ? CLI_OK : unknown_noun(c, words[0]);
    if (!rc && o->help && n_words == 1) {
        help_print(&c->out, n, NULL);
        return CLI_OK;
    }
    rc = rc ? rc : find_verb(c, n, n_words, words, &v, &used);
    if (rc)
        return rc;
    cli_forgive(c);
    if (o->help) {
        help_print(&c->out, n, v);
        return CLI_OK;
    }
    c->noun = n->name;
    c->verb = v->name;
    rc = args_parse(c, n, v, n_words - used, words + used, &a);
    if (!rc && c->output == CLI_CSV && !v->csv)
        rc = cli_fail(c, CLI_USAGE, "-o csv is for telemetry alone");
    if (!rc && !v->offline)
        rc = options_apply(c, o);
    return rc ? rc : verbs_run(c, n, v, &a);
}

static int dispatch(struct cli *c, int argc, char **argv)
{
    struct options o = {0};
    int rc = options_take(c, &argc, argv, &o);
    if (rc)
        return rc;
    if (o.version) {
        strbuf_puts(&c->out, "hawserctl " HAWSER_VERSION "\n");
    } else if (o.print_verbs) {
        help_print_verbs(&c->out);
    } else if (argc > 1) {
        return run(c, &o, argc - 1, argv + 1);
    } else {
        help_print(&c->out, NULL, NULL);
        if (!o.help) {
            (void)fprintf(stderr, "%s", strbuf_str(&c->out));
            strbuf_reset(&c->out);
            return CLI_USAGE;
        }
    }
    return CLI_OK;
}

int main(int argc, char **argv)
{
    struct cli c = {0};
    /* A reader that went away is an error of a write, not the end of the process. */
    (void)signal(SIGPIPE, SIG_IGN);
    int rc = dispatch(&c, argc, argv);
    /* What a command said before it failed is still wanted: the result of a diagnostic. */
    int flushed = cli_flush(&c);
    rc = rc ? rc : flushed;
    if (c.failure.len > 0)
        (void)fprintf(stderr, "hawserctl: %s\n", strbuf_str(&c.failure));
    if (rc && c.hint.len > 0)
        (void)fprintf(stderr, "hint: %s\n", strbuf_str(&c.hint));
    cli_done(&c);
    return rc;
}
