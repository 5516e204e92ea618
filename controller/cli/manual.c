#include "controller/cli/args.h"
#include "controller/cli/commands.h"
#include "controller/cli/help.h"
#include "controller/cli/nouns.h"
#include "controller/cli/options.h"
#include <string.h>

extern const unsigned char manual_text[];

/* Text of the rows as roff reads it: no hyphen is a dash, no line begins with a request. */
static void put(struct strbuf *out, const char *s)
{
    if (*s == '.' || *s == '\'')
        strbuf_puts(out, "\\&");
    for (; *s; s++) {
        if (*s == '-' || *s == '\\')
            strbuf_puts(out, *s == '-' ? "\\-" : "\\e");
        else
            strbuf_add(out, s, 1);
    }
}

static void put_options(struct strbuf *out)
{
    for (const struct option_row *r = option_rows; r->name; r++) {
        strbuf_puts(out, ".TP\n\\fB");
        put(out, r->name);
        strbuf_puts(out, "\\fR ");
        put(out, r->value ? r->value : "");
        strbuf_puts(out, "\n");
        put(out, r->help);
        strbuf_puts(out, "\n");
    }
}

static void put_flag(struct strbuf *out, const struct verb *v, const struct flag *f)
{
    struct strbuf value = STRBUF_INIT;
    help_value(&value, f);
    strbuf_puts(out, ".br\n\\fB\\-\\-");
    put(out, f->name);
    strbuf_puts(out, "\\fR ");
    put(out, strbuf_str(&value));
    strbuf_puts(out, ": ");
    put(out, f->help);
    strbuf_puts(out, nouns_requires(v, f) ? " (required)\n" : "\n");
    strbuf_done(&value);
}

static void put_verb(struct strbuf *out, const struct noun *n, const struct verb *v)
{
    struct strbuf synopsis = STRBUF_INIT;
    const struct flag *f;
    help_synopsis(&synopsis, n, v);
    strbuf_puts(out, ".TP\n\\fB");
    put(out, strbuf_str(&synopsis));
    strbuf_puts(out, "\\fR\n");
    put(out, v->summary);
    strbuf_puts(out, ".\n");
    for (size_t i = 0; (f = nouns_flag_at(v, i)); i++)
        put_flag(out, v, f);
    strbuf_puts(out, ".br\nExample: \\fBhawserctl ");
    put(out, v->example);
    strbuf_puts(out, "\\fR\n");
    strbuf_done(&synopsis);
}

static void put_commands(struct strbuf *out)
{
    for (const struct noun *const *n = nouns; *n; n++) {
        strbuf_puts(out, ".SS ");
        put(out, (*n)->name);
        strbuf_puts(out, "\n");
        put(out, (*n)->title);
        strbuf_puts(out, ".\n");
        for (const struct verb *v = (*n)->verbs; v->name; v++)
            put_verb(out, *n, v);
    }
}

/* The page of packaging/man with the rows in its three places. */
static void put_manual(struct strbuf *out)
{
    const char *p = (const char *)manual_text;
    while (*p) {
        size_t len = strcspn(p, "@");
        strbuf_add(out, p, len);
        p += len;
        if (*p == '\0')
            break;
        if (strncmp(p, "@VERSION@", 9) == 0)
            strbuf_puts(out, HAWSER_VERSION);
        else if (strncmp(p, "@OPTIONS@", 9) == 0)
            put_options(out);
        else
            put_commands(out);
        p = strchr(p + 1, '@') + 1;
        p += *p == '\n' && p[-2] == 'S'; /* the rows end with a line feed of their own */
    }
}

static int run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    (void)n;
    (void)v;
    (void)a;
    put_manual(&c->out);
    return CLI_OK;
}

static const struct verb verbs[] = {
    {.name = "",
     .summary = "Prints the manual page",
     .example = "manual | man -l -",
     .offline = true,
     .run = run},
    VERBS_END,
};

const struct noun noun_manual = {
    .name = "manual",
    .title = "The manual page",
    .verbs = verbs,
};
