#include "controller/cli/completion.h"
#include "controller/cli/args.h"
#include "controller/cli/commands.h"
#include "controller/cli/nouns.h"
#include "controller/cli/options.h"
#include <string.h>

/* Finds noun and verb among the words before the cursor, skipping options and their values. */
static const char head[] =
    "# bash completion of hawserctl, printed by `hawserctl completion bash`\n"
    "_hawserctl_names() {\n"
    "    timeout 3 hawserctl \"$1\" list --no-headers -o table 2>/dev/null </dev/null |\n"
    "        awk -v noun=\"$1\" '{ print noun == \"link\" || noun == \"size\" ? $1 \"/\" $2 : $1 "
    "}'\n"
    "}\n"
    "\n"
    "_hawserctl() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local noun= verb= word skip= i\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $skip ]]; then skip=; continue; fi\n"
    "        case $word in\n";

static const char middle[] = "        -*) ;;\n"
                             "        *) if [[ ! $noun ]]; then noun=$word\n"
                             "           elif [[ ! $verb ]]; then verb=$word; fi ;;\n"
                             "        esac\n"
                             "    done\n"
                             "    COMPREPLY=()\n"
                             "    case $prev in\n"
                             "    -o) COMPREPLY=($(compgen -W 'table wide json' -- \"$cur\")); "
                             "return ;;\n"
                             "    --ca | --token-file | --config | --file)\n"
                             "        COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
                             "    --url | --timeout) return ;;\n"
                             "    esac\n";

static const char tail[] = "}\n"
                           "complete -F _hawserctl hawserctl\n";

static void put_reply(struct strbuf *out, const char *words)
{
    strbuf_printf(out, "COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", words);
}

static void add_word(struct strbuf *out, const char *before, const char *word)
{
    strbuf_printf(out, "%s%s%s", out->len ? " " : "", before, word);
}

/* Case of a flag whose value can be told: its words, or the names of a noun. */
static void put_flag_value(struct strbuf *out, const char *noun, const struct verb *v,
                           const struct flag *f)
{
    struct strbuf words = STRBUF_INIT;
    for (const char *const *w = f->words; w && *w; w++)
        add_word(&words, "", *w);
    if (f->type == FLAG_BOOL)
        add_word(&words, "", "true false");
    if (words.len || f->ref) {
        strbuf_printf(out, "    '%s/%s/--%s') ", noun, v->name, f->name);
        if (f->ref)
            strbuf_printf(out, "COMPREPLY=($(compgen -W \"$(_hawserctl_names %s)\" -- \"$cur\"))",
                          f->ref->name);
        else
            put_reply(out, strbuf_str(&words));
        strbuf_puts(out, "; return ;;\n");
    }
    strbuf_done(&words);
}

static void put_values(struct strbuf *out)
{
    const struct flag *f;
    strbuf_puts(out, "    case $noun/$verb/$prev in\n");
    for (const struct noun *const *n = nouns; *n; n++)
        for (const struct verb *v = (*n)->verbs; v->name; v++)
            for (size_t i = 0; (f = nouns_flag_at(v, i)); i++)
                put_flag_value(out, (*n)->name, v, f);
    strbuf_puts(out, "    esac\n");
}

/* Every option and flag that eats the next word. */
static void put_skips(struct strbuf *out)
{
    strbuf_puts(out, "        --file");
    for (const struct option_row *r = option_rows; r->name; r++)
        if (r->value)
            strbuf_printf(out, " | %s", r->name);
    strbuf_puts(out, ") skip=1 ;;\n");
}

static void put_verb(struct strbuf *out, const struct noun *n, const struct verb *v)
{
    struct strbuf words = STRBUF_INIT;
    const struct flag *f;
    for (size_t i = 0; (f = nouns_flag_at(v, i)); i++)
        add_word(&words, "--", f->name);
    for (const struct option_row *r = option_rows; r->name; r++)
        if (r->name[1] == '-')
            add_word(&words, "", r->name);
    strbuf_printf(out, "    '%s/%s')\n        if [[ $cur == -* ]]; then ", n->name, v->name);
    put_reply(out, strbuf_str(&words));
    if (v->arg == ARG_OBJECT && !n->parent)
        strbuf_printf(out,
                      "\n        else COMPREPLY=($(compgen -W \"$(_hawserctl_names %s)\" -- "
                      "\"$cur\"))",
                      n->name);
    strbuf_puts(out, "; fi ;;\n");
    strbuf_done(&words);
}

static void put_words(struct strbuf *out)
{
    struct strbuf all = STRBUF_INIT;
    strbuf_puts(out, "    case $noun/$verb in\n");
    for (const struct noun *const *n = nouns; *n; n++) {
        struct strbuf verbs = STRBUF_INIT;
        add_word(&all, "", (*n)->name);
        for (const struct verb *v = (*n)->verbs; v->name; v++) {
            put_verb(out, *n, v);
            if (v->name[0])
                add_word(&verbs, "", v->name);
        }
        if (verbs.len) {
            strbuf_printf(out, "    '%s/') ", (*n)->name);
            put_reply(out, strbuf_str(&verbs));
            strbuf_puts(out, " ;;\n");
        }
        strbuf_done(&verbs);
    }
    strbuf_puts(out, "    /) ");
    put_reply(out, strbuf_str(&all));
    strbuf_puts(out, " ;;\n    esac\n");
    strbuf_done(&all);
}

void completion_bash(struct strbuf *out)
{
    strbuf_puts(out, head);
    put_skips(out);
    strbuf_puts(out, middle);
    put_values(out);
    put_words(out);
    strbuf_puts(out, tail);
}

static int run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    (void)n;
    (void)v;
    if (strcmp(a->operands[0], "bash") != 0) {
        cli_hint(c, "hawserctl completion bash");
        return cli_fail(c, CLI_USAGE, "%s: completion is made for bash alone", a->operands[0]);
    }
    completion_bash(&c->out);
    return CLI_OK;
}

static const struct verb verbs[] = {
    {.name = "",
     .summary = "Prints the script that completes nouns, verbs, flags and names in a shell",
     .example = "completion bash > /etc/bash_completion.d/hawserctl",
     .arg = ARG_WORDS,
     .operands = "bash",
     .offline = true,
     .run = run},
    VERBS_END,
};

const struct noun noun_completion = {
    .name = "completion",
    .title = "Words for a shell to complete",
    .verbs = verbs,
};
