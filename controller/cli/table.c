#include "controller/cli/table.h"
#include "controller/cli/cell.h"
#include "controller/cli/visible.h"
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 24
#define GAP         2
#define NARROWEST   8

struct table {
    struct cli *c;
    const struct column *columns[COLUMNS_MAX];
    size_t widths[COLUMNS_MAX];
    size_t n_columns, n_rows;
    char **cells; /* row after row */
};

static void choose_columns(struct table *t, const struct column *all)
{
    for (; all->header && t->n_columns < COLUMNS_MAX; all++)
        if (!all->wide || t->c->output == CLI_WIDE)
            t->columns[t->n_columns++] = all;
}

static bool fill_row(struct table *t, const struct json_at *item)
{
    bool ok = true;
    for (size_t i = 0; i < t->n_columns; i++) {
        struct strbuf text = STRBUF_INIT;
        cell_text(t->c, t->columns[i], item, &text);
        char *cell = strbuf_take(&text);
        t->cells[t->n_rows * t->n_columns + i] = cell;
        size_t width = cell ? visible_width(cell) : 0;
        if (width > t->widths[i])
            t->widths[i] = width;
        ok = ok && cell;
    }
    t->n_rows++;
    return ok;
}

/* Takes from the widest columns until a line fits the terminal. */
static void fit(struct table *t)
{
    size_t total = 0;
    for (size_t i = 0; i < t->n_columns; i++)
        total += t->widths[i] + (i ? GAP : 0);
    while (t->c->width > 0 && t->c->output == CLI_TABLE && total > t->c->width) {
        size_t widest = 0;
        for (size_t i = 1; i < t->n_columns; i++)
            if (t->widths[i] > t->widths[widest])
                widest = i;
        if (t->widths[widest] <= NARROWEST)
            return;
        t->widths[widest]--;
        total--;
    }
}

/* One cell, cut with an ellipsis where it is wider, and padded unless it is the last. */
static void put_cell(struct table *t, size_t column, const char *text, enum cell_colour colour)
{
    struct strbuf *out = &t->c->out;
    size_t width = visible_width(text), room = t->widths[column], bytes = 0;
    strbuf_puts(out, column ? "  " : "");
    strbuf_puts(out, cell_begin(t->c, colour));
    if (width > room) {
        for (size_t n = 0; n < room - 1; n++)
            do
                bytes++;
            while (((unsigned char)text[bytes] & 0xc0) == 0x80);
        strbuf_add(out, text, bytes);
        strbuf_puts(out, "…");
        width = room;
    } else {
        strbuf_puts(out, text);
    }
    strbuf_puts(out, cell_end(t->c, colour));
    if (column + 1 < t->n_columns)
        strbuf_printf(out, "%*s", (int)(room - width), "");
}

static void put_table(struct table *t)
{
    for (size_t i = 0; !t->c->no_headers && i < t->n_columns; i++)
        put_cell(t, i, t->columns[i]->header, COLOUR_NONE);
    strbuf_puts(&t->c->out, t->c->no_headers ? "" : "\n");
    for (size_t row = 0; row < t->n_rows; row++) {
        for (size_t i = 0; i < t->n_columns; i++) {
            const char *text = t->cells[row * t->n_columns + i];
            put_cell(t, i, text, cell_colour(t->columns[i], text));
        }
        strbuf_puts(&t->c->out, "\n");
    }
}

static int print(struct cli *c, const struct column *columns, const struct json_at *items, size_t n)
{
    struct table t = {.c = c};
    bool ok = true;
    choose_columns(&t, columns);
    for (size_t i = 0; i < t.n_columns; i++)
        t.widths[i] = c->no_headers ? 0 : visible_width(t.columns[i]->header);
    t.cells = calloc(n * t.n_columns + 1, sizeof *t.cells);
    ok = t.cells != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        struct json_at item = json_kind(items) == JSON_KIND_ARRAY ? json_element(items, i) : *items;
        ok = fill_row(&t, &item);
    }
    if (ok) {
        fit(&t);
        put_table(&t);
    }
    for (size_t i = 0; t.cells && i < n * t.n_columns; i++)
        free(t.cells[i]);
    free(t.cells);
    return ok ? CLI_OK : cli_no_memory(c);
}

int table_print(struct cli *c, const struct column *columns, const struct json_at *items)
{
    return print(c, columns, items, json_length(items));
}

int table_print_text(struct cli *c, const struct column *columns, const struct strbuf *array)
{
    struct json_object *doc = NULL;
    if (array->failed)
        return cli_no_memory(c);
    if (json_parse(strbuf_str(array), array->len, SIZE_MAX, &doc, NULL))
        return cli_fail(c, CLI_FAILED, "the answer is not what this version knows");
    const struct json_at items = json_root(doc);
    int rc = table_print(c, columns, &items);
    json_free(doc);
    return rc;
}

int table_print_one(struct cli *c, const struct column *columns, const struct json_at *item)
{
    return print(c, columns, item, 1);
}
