#include "controller/cli/help.h"
#include "controller/cli/nouns.h"
#include "controller/cli/options.h"
#include "controller/cli/visible.h"
#include <string.h>

#define NAME_WIDTH 26

void help_value(struct strbuf *out, const struct flag *f)
{
    static const char *const texts[] = {
        [FLAG_TEXT] = "TEXT",
        [FLAG_WORD] = "",
        [FLAG_UINT] = "N",
        [FLAG_NUMBER] = "NUMBER",
        [FLAG_BOOL] = "true|false",
        [FLAG_LIST] = "A,B,…",
        [FLAG_REF] = "NAME|ID",
        [FLAG_REFS] = "NAME|ID,…",
        [FLAG_TIME] = "TIME|24h",
        [FLAG_SINCE] = "TIME|24h",
        [FLAG_DURATION] = "SECONDS|24h",
        [FLAG_FILE] = "FILE",
        [FLAG_ETAG] = "ETAG",
        [FLAG_ENDPOINTS] = "ADDRESS[/public][/unreachable],…",
        [FLAG_SWITCH] = "",
    };
    strbuf_puts(out, texts[f->type]);
    for (const char *const *w = f->words; w && *w; w++) {
        strbuf_puts(out, w == f->words ? "" : "|");
        strbuf_puts(out, *w);
    }
}

void help_synopsis(struct strbuf *out, const struct noun *n, const struct verb *v)
{
    strbuf_printf(out, "hawserctl %s%s%s", n->name, v->name[0] ? " " : "", v->name);
    if (v->arg == ARG_OBJECT)
        strbuf_puts(out, n->nameless ? " ID" : " NAME|ID");
    if (v->arg == ARG_WORDS)
        strbuf_printf(out, " %s", v->operands);
    for (const struct flag *f = v->flags; f && f->name; f++) {
        if (!nouns_requires(v, f))
            continue;
        strbuf_printf(out, " --%s ", f->name);
        help_value(out, f);
    }
    for (const struct flag *f = v->flags; f && f->name; f++) {
        if (nouns_requires(v, f))
            continue;
        strbuf_puts(out, " [--flag …]");
        break;
    }
}

static void put_row(struct strbuf *out, const char *name, const char *value, const char *help)
{
    size_t used = strlen(name) + (value[0] ? 1 + visible_width(value) : 0);
    strbuf_printf(out, "  %s%s%s", name, value[0] ? " " : "", value);
    if (used + 2 > NAME_WIDTH) {
        strbuf_puts(out, "\n  ");
        used = 0;
    }
    strbuf_printf(out, "%*s%s\n", (int)(NAME_WIDTH - used), "", help);
}

static void put_flags(struct strbuf *out, const struct verb *v)
{
    const struct flag *f = nouns_flag_at(v, 0);
    if (f)
        strbuf_puts(out, "\nFlags:\n");
    for (size_t i = 0; (f = nouns_flag_at(v, i)); i++) {
        struct strbuf name = STRBUF_INIT, value = STRBUF_INIT, text = STRBUF_INIT;
        strbuf_printf(&name, "--%s", f->name);
        help_value(&value, f);
        strbuf_printf(&text, "%s%s", f->help, nouns_requires(v, f) ? " (required)" : "");
        put_row(out, strbuf_str(&name), strbuf_str(&value), strbuf_str(&text));
        strbuf_done(&name);
        strbuf_done(&value);
        strbuf_done(&text);
    }
}

static void print_verb(struct strbuf *out, const struct noun *n, const struct verb *v)
{
    strbuf_printf(out, "%s.\n\n  ", v->summary);
    help_synopsis(out, n, v);
    strbuf_puts(out, "\n");
    put_flags(out, v);
    strbuf_printf(out, "\nExample:\n  hawserctl %s\n", v->example);
}

static void print_noun(struct strbuf *out, const struct noun *n)
{
    strbuf_printf(out, "%s.\n", n->title);
    for (const struct verb *v = n->verbs; v->name; v++) {
        strbuf_puts(out, "\n  ");
        help_synopsis(out, n, v);
        strbuf_printf(out, "\n      %s. Example:\n      hawserctl %s\n", v->summary, v->example);
    }
    strbuf_printf(out, "\nhawserctl %s VERB --help tells a verb's flags.\n", n->name);
}

static void print_all(struct strbuf *out)
{
    strbuf_puts(out, "hawserctl: the command line of a Hawser network\n\n"
                     "  hawserctl NOUN VERB [NAME|ID] [--flag value …] [-o table|wide|json]\n\n"
                     "Nouns and their verbs:\n");
    for (const struct noun *const *n = nouns; *n; n++) {
        struct strbuf verbs = STRBUF_INIT;
        for (const struct verb *v = (*n)->verbs; v->name && v->name[0]; v++)
            strbuf_printf(&verbs, "%s%s", verbs.len ? " " : "", v->name);
        put_row(out, (*n)->name, "", verbs.len ? strbuf_str(&verbs) : (*n)->title);
        strbuf_done(&verbs);
    }
    strbuf_puts(out, "\nOptions of every command:\n");
    for (const struct option_row *r = option_rows; r->name; r++)
        put_row(out, r->name, r->value ? r->value : "", r->help);
    strbuf_puts(out, "\nhawserctl NOUN --help shows its verbs with an example each.\n"
                     "Exit codes: 0 ok, 1 failed, 2 usage or a refused value, 3 not found, 4 not "
                     "authorised, 5 conflict.\n");
}

void help_print(struct strbuf *out, const struct noun *n, const struct verb *v)
{
    if (n && (v || !n->verbs->name[0]))
        print_verb(out, n, v ? v : n->verbs);
    else if (n)
        print_noun(out, n);
    else
        print_all(out);
}

void help_hint(struct cli *c, const struct noun *n, const struct verb *v)
{
    bool named = v && v->name[0];
    cli_hint(c, "hawserctl%s%s%s%s --help", n ? " " : "", n ? n->name : "", named ? " " : "",
             named ? v->name : "");
}

void help_print_verbs(struct strbuf *out)
{
    for (const struct noun *const *n = nouns; *n; n++)
        for (const struct verb *v = (*n)->verbs; v->name; v++) {
            strbuf_printf(out, "%s\t%s\t%s\t%s%s%s\t", (*n)->name, v->name,
                          v->method ? v->method : "-", (*n)->path ? (*n)->path : "-",
                          v->arg == ARG_OBJECT ? "/{id}" : "", v->suffix ? v->suffix : "");
            const struct flag *f;
            for (size_t i = 0; (f = nouns_flag_at(v, i)); i++)
                strbuf_printf(out, "%s%s=%s", i == 0 ? "" : ",", f->name,
                              f->member ? f->member : "");
            strbuf_puts(out, "\n");
        }
}
