#include "common/settings.h"
#include "common/fsutil.h"
#include "common/json.h"
#include "common/strbuf.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX     (1u << 20)
#define LIST_MAX     256
#define VALUE_MAX    4096
#define VARIABLE_MAX 128

static void *field_of(const struct settings_row *row, void *out)
{
    return (char *)out + row->offset;
}

static void free_list(struct settings_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    *l = (struct settings_list){0};
}

/* Empties one field, or gives an uninitialised one its empty value. */
static void clear_field(const struct settings_row *row, void *out, bool initialised)
{
    void *f = field_of(row, out);
    switch (row->type) {
    case SETTINGS_STR:
        if (initialised)
            free(*(char **)f);
        *(char **)f = NULL;
        break;
    case SETTINGS_LIST:
        if (initialised)
            free_list(f);
        *(struct settings_list *)f = (struct settings_list){0};
        break;
    case SETTINGS_UINT:
        *(uint64_t *)f = 0;
        break;
    case SETTINGS_BOOL:
        *(bool *)f = false;
        break;
    }
}

void settings_done(const struct settings_row *rows, size_t n_rows, void *out)
{
    for (size_t i = 0; i < n_rows; i++)
        clear_field(&rows[i], out, true);
}

/* ---- one value into its field; `where` names the source for the error ---- */

static int wrong(struct err *e, const struct settings_row *row, const char *where, const char *why)
{
    return err_set_field(e, HW_EINVAL, row->key, "%s: %s: %s", where, row->key, why);
}

static int set_str(const struct settings_row *row, void *out, const char *v, const char *where,
                   struct err *e)
{
    if (row->words) {
        const char *const *w = row->words;
        while (*w && strcmp(*w, v) != 0)
            w++;
        if (!*w)
            return wrong(e, row, where, "is none of the words allowed");
    }
    char *copy = strdup(v);
    if (!copy)
        return err_set(e, HW_ENOMEM, "out of memory");
    clear_field(row, out, true);
    *(char **)field_of(row, out) = copy;
    return HW_OK;
}

static int set_uint(const struct settings_row *row, void *out, uint64_t v, const char *where,
                    struct err *e)
{
    if (v < row->min || v > row->max) {
        char why[100];
        (void)snprintf(why, sizeof why, "must be from %llu to %llu", (unsigned long long)row->min,
                       (unsigned long long)row->max);
        return wrong(e, row, where, why);
    }
    *(uint64_t *)field_of(row, out) = v;
    return HW_OK;
}

static int add_item(struct settings_list *l, const char *v, size_t len, struct err *e)
{
    char *copy = l->n < LIST_MAX ? strndup(v, len) : NULL;
    char **grown = copy ? reallocarray(l->v, l->n + 1, sizeof *grown) : NULL;
    if (!grown) {
        free(copy);
        return err_set(e, HW_ENOMEM, "out of memory, or more than %d values", LIST_MAX);
    }
    l->v = grown;
    l->v[l->n++] = copy;
    return HW_OK;
}

/* "a,b" */
static int set_list_text(const struct settings_row *row, void *out, const char *v, struct err *e)
{
    struct settings_list l = {0};
    int rc = HW_OK;
    while (*v && !rc) {
        size_t len = strcspn(v, ",");
        if (len > 0)
            rc = add_item(&l, v, len, e);
        v += len + (v[len] == ',');
    }
    if (rc) {
        free_list(&l);
        return rc;
    }
    clear_field(row, out, true);
    *(struct settings_list *)field_of(row, out) = l;
    return HW_OK;
}

/* From a flag, the environment, or the table's default. */
static int set_text(const struct settings_row *row, void *out, const char *v, const char *where,
                    struct err *e)
{
    char *end;
    switch (row->type) {
    case SETTINGS_STR:
        return set_str(row, out, v, where, e);
    case SETTINGS_LIST:
        return set_list_text(row, out, v, e);
    case SETTINGS_UINT:
        errno = 0;
        unsigned long long n = strtoull(v, &end, 10);
        if (!isdigit((unsigned char)v[0]) || *end != '\0' || errno != 0)
            return wrong(e, row, where, "is no number");
        return set_uint(row, out, n, where, e);
    case SETTINGS_BOOL:
        if (strcmp(v, "true") != 0 && strcmp(v, "false") != 0)
            return wrong(e, row, where, "must be true or false");
        *(bool *)field_of(row, out) = strcmp(v, "true") == 0;
        return HW_OK;
    }
    return HW_EFAIL;
}

static int set_list_json(const struct settings_row *row, void *out, const struct json_at *at,
                         struct err *e)
{
    struct settings_list l = {0};
    size_t n = 0;
    int rc = json_as_array(at, LIST_MAX, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at v = json_element(at, i);
        const char *s = NULL;
        rc = json_as_str(&v, VALUE_MAX, &s, e);
        rc = rc ? rc : add_item(&l, s, strlen(s), e);
    }
    if (rc) {
        free_list(&l);
        return rc;
    }
    clear_field(row, out, true);
    *(struct settings_list *)field_of(row, out) = l;
    return HW_OK;
}

static int set_json(const struct settings_row *row, void *out, const struct json_at *at,
                    const char *where, struct err *e)
{
    const char *s;
    uint64_t n;
    int rc;
    switch (row->type) {
    case SETTINGS_STR:
        rc = json_as_str(at, VALUE_MAX, &s, e);
        return rc ? rc : set_str(row, out, s, where, e);
    case SETTINGS_LIST:
        return set_list_json(row, out, at, e);
    case SETTINGS_UINT:
        rc = json_as_uint(at, 0, UINT64_MAX, &n, e);
        return rc ? rc : set_uint(row, out, n, where, e);
    case SETTINGS_BOOL:
        return json_as_bool(at, field_of(row, out), e);
    }
    return HW_EFAIL;
}

/* ---- the file ---- */

/* Line of a top-level key, for messages: where `"key"` followed by a colon stands first. 0: not
 * found. */
static unsigned line_of(const char *text, const char *key)
{
    size_t len = strlen(key);
    unsigned line = 1;
    for (const char *p = text; *p; p++) {
        if (*p == '\n')
            line++;
        if (*p != '"' || strncmp(p + 1, key, len) != 0 || p[1 + len] != '"')
            continue;
        const char *after = p + len + 2;
        after += strspn(after, " \t\r\n");
        if (*after == ':')
            return line;
    }
    return 0;
}

static const struct settings_row *find_row(const struct settings_row *rows, size_t n_rows,
                                           const char *key)
{
    for (size_t i = 0; i < n_rows; i++)
        if (strcmp(rows[i].key, key) == 0)
            return &rows[i];
    return NULL;
}

struct file_load {
    const struct settings_row *rows;
    size_t n_rows;
    const char *text;
    void *out;
};

/* One key of the file; every error says in which line it stands. */
static int apply_member(void *arg, const struct json_at *at, struct err *e)
{
    const struct file_load *f = arg;
    const struct settings_row *row = find_row(f->rows, f->n_rows, at->key);
    struct err inner = {0};
    char where[32];
    (void)snprintf(where, sizeof where, "line %u", line_of(f->text, at->key));
    if (!row)
        return err_set_field(e, HW_EINVAL, at->key, "%s: unknown key \"%s\"", where, at->key);
    int rc = set_json(row, f->out, at, where, &inner);
    if (rc && strncmp(inner.text, where, strlen(where)) == 0)
        return err_set_field(e, rc, at->key, "%s", inner.text);
    if (rc)
        return err_set_field(e, rc, at->key, "%s: %s: %s", where, at->key, inner.text);
    return HW_OK;
}

static int load_file(const struct settings_row *rows, size_t n_rows, const char *path,
                     bool required, void *out, struct err *e)
{
    char *text;
    size_t len;
    struct json_object *doc;
    int rc = fsutil_read(path, FILE_MAX, &text, &len, e);
    if (rc == HW_ENOTFOUND && !required)
        return HW_OK;
    if (rc)
        return rc;
    rc = json_parse(text, len, FILE_MAX, &doc, e);
    if (!rc) {
        const struct json_at top = json_root(doc);
        struct file_load f = {rows, n_rows, text, out};
        rc = json_each_member(&top, apply_member, &f, e);
        json_free(doc);
    }
    free(text);
    if (rc)
        (void)err_wrap(e, "%s", path);
    return rc;
}

/* ---- environment and flags ---- */

static int load_environment(const struct settings_row *row, void *out, struct err *e)
{
    char name[VARIABLE_MAX];
    (void)snprintf(name, sizeof name, "HAWSER_%s", row->key);
    for (char *p = name; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    const char *v = getenv(name);
    return v ? set_text(row, out, v, name, e) : HW_OK;
}

/* "--key-with-hyphens" names the row's key; *value is what follows '=', or NULL. */
static bool flag_names(const struct settings_row *row, const char *arg, const char **value)
{
    if (strncmp(arg, "--", 2) != 0)
        return false;
    const char *a = arg + 2, *k = row->key;
    while (*k && (*a == *k || (*a == '-' && *k == '_'))) {
        a++;
        k++;
    }
    if (*k != '\0' || (*a != '\0' && *a != '='))
        return false;
    *value = *a == '=' ? a + 1 : NULL;
    return true;
}

int settings_take_flags(const struct settings_row *rows, size_t n_rows, int *argc, char **argv,
                        struct settings_flag flags[SETTINGS_FLAGS_MAX], size_t *n_flags,
                        struct err *e)
{
    int kept = *argc > 0 ? 1 : 0, i = kept;
    *n_flags = 0;
    for (; i < *argc && strcmp(argv[i], "--") != 0; i++) {
        const struct settings_row *row = NULL;
        const char *value = NULL;
        for (size_t k = 0; k < n_rows && !row; k++)
            if (flag_names(&rows[k], argv[i], &value))
                row = &rows[k];
        if (!row) {
            argv[kept++] = argv[i];
            continue;
        }
        if (!value) {
            if (i + 1 >= *argc)
                return err_set_field(e, HW_EINVAL, row->key, "%s needs a value", argv[i]);
            value = argv[++i];
        }
        if (*n_flags == SETTINGS_FLAGS_MAX)
            return err_set(e, HW_EINVAL, "more than %d flags", SETTINGS_FLAGS_MAX);
        flags[(*n_flags)++] = (struct settings_flag){.key = row->key, .value = value};
    }
    for (; i < *argc; i++)
        argv[kept++] = argv[i];
    argv[kept] = NULL;
    *argc = kept;
    return HW_OK;
}

int settings_load(const struct settings_row *rows, size_t n_rows, const char *path,
                  bool file_required, const struct settings_flag *flags, size_t n_flags, void *out,
                  struct err *e)
{
    int rc = HW_OK;
    for (size_t i = 0; i < n_rows; i++)
        clear_field(&rows[i], out, false);
    for (size_t i = 0; !rc && i < n_rows; i++)
        if (rows[i].fallback)
            rc = set_text(&rows[i], out, rows[i].fallback, "default", e);
    if (!rc && path)
        rc = load_file(rows, n_rows, path, file_required, out, e);
    for (size_t i = 0; !rc && i < n_rows; i++)
        rc = load_environment(&rows[i], out, e);
    for (size_t i = 0; !rc && i < n_flags; i++) {
        const struct settings_row *row = find_row(rows, n_rows, flags[i].key);
        rc = row ? set_text(row, out, flags[i].value, "flag", e) : HW_EFAIL;
    }
    if (rc)
        settings_done(rows, n_rows, out);
    return rc;
}
