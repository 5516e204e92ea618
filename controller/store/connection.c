#include "controller/store/connection.h"
#include "common/esp_suite.h"
#include "controller/store/stmt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                    \
    "id, name, site_a_id, site_b_id, kind, path, underlay_family, tunnels, suites, enabled,"       \
    " path_resiliency, liveness_interval_ms, liveness_missed, created_at, updated_at, revision"
#define SUITES_TEXT 128

const char *connection_path_name(enum connection_path p)
{
    static const char *const names[] = {"auto", "private", "public"};
    return names[p];
}

/* "aes-256-gcm,aes-128-gcm" */
static void suites_text(const struct store_connection *c, char out[SUITES_TEXT])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < c->n_suites; i++) {
        const struct esp_suite *s = esp_suite_by_id(c->suites[i]);
        int len =
            s ? snprintf(out + used, SUITES_TEXT - used, "%s%s", used ? "," : "", s->name) : 0;
        if (len > 0 && (size_t)len < SUITES_TEXT - used)
            used += (size_t)len;
    }
}

static void suites_parse(struct store_connection *c, char *text)
{
    char *save = NULL;
    for (char *name = strtok_r(text, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        const struct esp_suite *s = esp_suite_by_name(name);
        if (s && c->n_suites < CONNECTION_SUITES_MAX)
            c->suites[c->n_suites++] = s->id;
    }
}

static void read_connection(struct stmt *q, struct store_connection *c)
{
    char suites[SUITES_TEXT];
    col_id(q, &c->id);
    col_text(q, c->name, sizeof c->name);
    col_id(q, &c->site_a_id);
    col_id(q, &c->site_b_id);
    c->kind = col_int(q) == LINK_PEERING ? LINK_PEERING : LINK_ATTACHMENT;
    int64_t path = col_int(q);
    c->path = path == PATH_PRIVATE ? PATH_PRIVATE : path == PATH_PUBLIC ? PATH_PUBLIC : PATH_AUTO;
    c->underlay_family = (unsigned)col_int(q);
    c->tunnels = (unsigned)col_int(q);
    col_text(q, suites, sizeof suites);
    suites_parse(c, suites);
    c->enabled = col_int(q) != 0;
    c->path_resiliency = col_int(q) != 0;
    c->liveness_interval_ms = (uint32_t)col_int(q);
    c->liveness_missed = (unsigned)col_int(q);
    col_common(q, &c->common);
}

static void bind_fields(struct stmt *q, struct store_connection *c)
{
    char suites[SUITES_TEXT];
    suites_text(c, suites);
    stmt_text(q, c->name);
    stmt_id(q, &c->site_a_id);
    stmt_id(q, &c->site_b_id);
    stmt_int(q, c->kind);
    stmt_int(q, c->path);
    stmt_int(q, c->underlay_family);
    stmt_int(q, c->tunnels);
    stmt_text(q, suites);
    stmt_int(q, c->enabled);
    stmt_int(q, c->path_resiliency);
    stmt_int(q, c->liveness_interval_ms);
    stmt_int(q, c->liveness_missed);
    stmt_common(q, &c->common);
}

int store_connection_insert(struct db *db, struct store_connection *c, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO connections (" COLUMNS ")"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &c->id);
    bind_fields(&q, c);
    return stmt_run(&q, NULL, e);
}

int store_connection_update(struct db *db, struct store_connection *c, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(
        db, "UPDATE connections SET name = ?, site_a_id = ?, site_b_id = ?, kind = ?,"
            " path = ?, underlay_family = ?, tunnels = ?, suites = ?, enabled = ?,"
            " path_resiliency = ?, liveness_interval_ms = ?, liveness_missed = ?, created_at = ?,"
            " updated_at = ?, revision = ? WHERE id = ?");
    bind_fields(&q, c);
    stmt_id(&q, &c->id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such connection");
}

int store_connection_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM connections WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such connection");
}

static int read_one(struct stmt *q, struct store_connection *out, struct err *e)
{
    int rc = stmt_one(q, "connection", e);
    if (rc)
        return rc;
    *out = (struct store_connection){0};
    read_connection(q, out);
    stmt_end(q);
    return 0;
}

int store_connection_get(struct db *db, const struct hw_id *id, struct store_connection *out,
                         struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM connections WHERE id = ?");
    stmt_id(&q, id);
    return read_one(&q, out, e);
}

int store_connection_between(struct db *db, const struct hw_id *site_a, const struct hw_id *site_b,
                             struct store_connection *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM connections"
                                 " WHERE (site_a_id = ?1 AND site_b_id = ?2)"
                                 " OR (site_a_id = ?2 AND site_b_id = ?1) LIMIT 1");
    stmt_id(&q, site_a);
    stmt_id(&q, site_b);
    return read_one(&q, out, e);
}

int store_connection_list(struct db *db, const struct store_page *page, const struct hw_id *site_id,
                          struct store_connection **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM connections WHERE name > ?1"
                                 " AND (?3 IS NULL OR site_a_id = ?3 OR site_b_id = ?3)"
                                 " ORDER BY name LIMIT ?2");
    stmt_text(&q, page->after ? page->after : "");
    stmt_int(&q, page->limit);
    stmt_id(&q, site_id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_connection *c = rows_add(&list, &count, sizeof *c);
        if (!c) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_connection(&q, c);
    }
    stmt_end(&q);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

int store_connection_all(struct db *db, struct store_connection **out, size_t *n, struct err *e)
{
    return store_connection_list(db, &(struct store_page){.limit = UINT32_MAX}, NULL, out, n, e);
}
