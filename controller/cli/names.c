#include "controller/cli/names.h"
#include "controller/cli/api.h"
#include <stdlib.h>
#include <string.h>

struct name {
    char id[ID_TEXT_MAX];
    char *label;
};

/* Those of one kind. */
struct names {
    const struct noun *noun;
    char *path;
    struct name *v;
    size_t n;
    bool failed; /* could not be fetched; not tried again */
    struct names *next;
};

void names_free(struct names *n)
{
    while (n) {
        struct names *next = n->next;
        for (size_t i = 0; i < n->n; i++)
            free(n->v[i].label);
        free(n->v);
        free(n->path);
        free(n);
        n = next;
    }
}

void names_reset(struct cli *c)
{
    names_free(c->names);
    c->names = NULL;
}

static int label_of(struct cli *c, const struct noun *n, const struct json_at *item,
                    struct strbuf *out)
{
    struct json_at name;
    if (n->label)
        return n->label(c, item, out);
    if (json_find(item, "name", &name) && json_kind(&name) == JSON_KIND_STRING)
        strbuf_puts(out, json_plain(&name));
    return CLI_OK;
}

static int add(struct cli *c, struct names *to, const struct json_at *item)
{
    struct strbuf label = STRBUF_INIT;
    struct json_at id;
    struct name *grown = reallocarray(to->v, to->n + 1, sizeof *grown);
    if (!grown)
        return cli_no_memory(c);
    to->v = grown;
    if (!json_find(item, "id", &id) || strlen(json_plain(&id)) != ID_TEXT_LEN)
        return CLI_OK;
    int rc = label_of(c, to->noun, item, &label);
    struct name *new = &to->v[to->n];
    memcpy(new->id, json_plain(&id), ID_TEXT_MAX);
    new->label = strbuf_take(&label);
    if (!rc && !new->label)
        rc = cli_no_memory(c);
    to->n += new->label != NULL;
    return rc;
}

static int add_all(struct cli *c, struct names *to, const struct json_at *items)
{
    int rc = CLI_OK;
    for (size_t i = 0; !rc && i < json_length(items); i++) {
        struct json_at item = json_element(items, i);
        rc = add(c, to, &item);
    }
    return rc;
}

static int fetch(struct cli *c, struct names *to)
{
    struct json_object *doc = NULL;
    struct json_at items = json_root(NULL);
    int rc = api_list(c, to->path, &doc);
    const struct json_at top = json_root(doc);
    if (!rc && json_find(&top, "items", &items))
        rc = add_all(c, to, &items);
    json_free(doc);
    return rc;
}

/* An empty kind at the head of the list. */
static struct names *add_kind(struct cli *c, const struct noun *n, const char *path)
{
    struct names *k = calloc(1, sizeof *k);
    if (k)
        k->path = strdup(path);
    if (!k || !k->path) {
        free(k);
        (void)cli_no_memory(c);
        return NULL;
    }
    k->noun = n;
    k->next = c->names;
    c->names = k;
    return k;
}

/* Those of a kind, fetched at the first call. NULL: *rc says why not. */
static struct names *of_kind(struct cli *c, const struct noun *n, const char *path, int *rc)
{
    for (struct names *k = c->names; k; k = k->next)
        if (k->noun == n && strcmp(k->path, path) == 0) {
            *rc = k->failed ? CLI_FAILED : CLI_OK;
            return k->failed ? NULL : k;
        }
    struct names *k = add_kind(c, n, path);
    *rc = k ? fetch(c, k) : CLI_FAILED;
    if (!k)
        return NULL;
    k->failed = *rc != CLI_OK;
    return k->failed ? NULL : k;
}

static bool is_called(const struct noun *n, const char *label, const char *text)
{
    const char *slash = n->short_names ? strchr(label, '/') : NULL;
    return strcmp(label, text) == 0 || (slash && strcmp(slash + 1, text) == 0);
}

int names_resolve(struct cli *c, const struct noun *n, const char *path, const char *text,
                  char out[ID_TEXT_MAX])
{
    struct hw_id id;
    const struct name *found = NULL;
    int rc;
    if (id_parse(text, &id) == HW_OK) {
        (void)id_text(&id, out);
        return CLI_OK;
    }
    if (n->nameless) {
        cli_hint(c, "hawserctl %s list", n->name);
        return cli_fail(c, CLI_USAGE, "%s is no id, and a %s has no other name", text, n->name);
    }
    const struct names *k = of_kind(c, n, path ? path : n->path, &rc);
    if (!k)
        return rc;
    for (size_t i = 0; i < k->n; i++) {
        if (!is_called(n, k->v[i].label, text))
            continue;
        if (found) {
            cli_hint(c, "name it whole or by its id: hawserctl %s list -o wide", n->name);
            return cli_fail(c, CLI_USAGE, "%s %s may be %s or %s", n->name, text, found->label,
                            k->v[i].label);
        }
        found = &k->v[i];
    }
    if (!found) {
        cli_hint(c, "hawserctl %s list", n->name);
        return cli_fail(c, CLI_NOT_FOUND, "there is no %s %s", n->name, text);
    }
    memcpy(out, found->id, ID_TEXT_MAX);
    return CLI_OK;
}

const char *names_of(struct cli *c, const struct noun *n, const char *id)
{
    int rc;
    bool failed_before = c->failure.len > 0;
    const struct names *k = of_kind(c, n, n->path, &rc);
    if (!k && !failed_before)
        cli_forgive(c);
    for (size_t i = 0; k && i < k->n; i++)
        if (strcmp(k->v[i].id, id) == 0 && k->v[i].label[0])
            return k->v[i].label;
    return id;
}

int names_learn(struct cli *c, const struct noun *n, const struct json_at *items)
{
    struct names *k = add_kind(c, n, n->path);
    return k ? add_all(c, k, items) : CLI_FAILED;
}

int names_pair(struct cli *c, const struct noun *n, const struct json_at *item, const char *a,
               const char *b, struct strbuf *out)
{
    strbuf_printf(out, "%s/", names_of(c, n, json_plain_at(item, a)));
    strbuf_puts(out, names_of(c, n, json_plain_at(item, b)));
    return CLI_OK;
}
