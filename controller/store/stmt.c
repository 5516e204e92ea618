#include "controller/store/stmt.h"
#include "common/log.h"
#include <stdlib.h>
#include <string.h>

static sqlite3_stmt *prepare(struct db *db, const char *sql, int *rc)
{
    size_t at = ((uintptr_t)sql >> 3) % STMT_CACHE;
    for (size_t i = 0; i < STMT_CACHE; i++, at = (at + 1) % STMT_CACHE) {
        if (db->cache[at].sql == sql) {
            (void)sqlite3_reset(db->cache[at].s);
            (void)sqlite3_clear_bindings(db->cache[at].s);
            return db->cache[at].s;
        }
        if (!db->cache[at].sql)
            break;
    }
    if (db->cache[at].sql) {
        log_error("store: the program has more than %d statements", STMT_CACHE);
        abort();
    }
    sqlite3_stmt *s = NULL;
    *rc = sqlite3_prepare_v3(db->sq, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL);
    if (*rc == SQLITE_OK) {
        db->cache[at].sql = sql;
        db->cache[at].s = s;
    }
    return s;
}

struct stmt stmt_get(struct db *db, const char *sql)
{
    struct stmt q = {.db = db, .param = 1, .rc = SQLITE_OK};
    q.s = prepare(db, sql, &q.rc);
    return q;
}

static void bound(struct stmt *q, int rc)
{
    q->param++;
    if (q->rc == SQLITE_OK)
        q->rc = rc;
}

void stmt_int(struct stmt *q, int64_t v)
{
    bound(q, sqlite3_bind_int64(q->s, q->param, v));
}

void stmt_double(struct stmt *q, double v)
{
    bound(q, sqlite3_bind_double(q->s, q->param, v));
}

void stmt_text(struct stmt *q, const char *v)
{
    bound(q, sqlite3_bind_text(q->s, q->param, v, -1, SQLITE_TRANSIENT));
}

void stmt_blob(struct stmt *q, const void *v, size_t len)
{
    bound(q, v ? sqlite3_bind_blob64(q->s, q->param, v, len, SQLITE_TRANSIENT)
               : sqlite3_bind_null(q->s, q->param));
}

void stmt_id(struct stmt *q, const struct hw_id *id)
{
    stmt_blob(q, id ? id->b : NULL, sizeof id->b);
}

void stmt_ip(struct stmt *q, const struct ipaddr *a)
{
    stmt_blob(q, a->family ? a->b : NULL, a->family == 4 ? 4 : 16);
}

void stmt_common(struct stmt *q, struct store_common *c)
{
    if (!c->created_at)
        c->created_at = q->db->now;
    c->updated_at = q->db->now;
    c->revision = q->db->revision;
    stmt_int(q, c->created_at);
    stmt_int(q, c->updated_at);
    stmt_int(q, (int64_t)c->revision);
}

int stmt_error(struct db *db, const char *what, struct err *e)
{
    int code = sqlite3_errcode(db->sq) & 0xff; /* the primary one */
    int hw = HW_EFAIL;
    if (code == SQLITE_NOMEM)
        hw = HW_ENOMEM;
    else if (code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_FULL)
        hw = HW_EAGAIN;
    return err_set(e, hw, "store: %s: %s", what, sqlite3_errmsg(db->sq));
}

/* "UNIQUE constraint failed: sites.name" gives the field "name". */
static int constraint_error(struct db *db, struct err *e)
{
    const char *dot = strrchr(sqlite3_errmsg(db->sq), '.');
    int kind = sqlite3_extended_errcode(db->sq);
    if ((kind == SQLITE_CONSTRAINT_UNIQUE || kind == SQLITE_CONSTRAINT_PRIMARYKEY) && dot)
        return err_set_field(e, HW_ECONFLICT, dot + 1, "%s is taken already", dot + 1);
    if (kind == SQLITE_CONSTRAINT_FOREIGNKEY)
        return err_set(e, HW_ECONFLICT, "other objects stand against it");
    return stmt_error(db, "constraint", e); /* a value that no caller may have let through */
}

static int failed(struct stmt *q, struct err *e)
{
    int code = q->rc & 0xff;
    int rc = code == SQLITE_CONSTRAINT ? constraint_error(q->db, e)
                                       : stmt_error(q->db, sqlite3_errstr(q->rc), e);
    stmt_end(q);
    return rc;
}

int stmt_row(struct stmt *q, struct err *e)
{
    if (q->rc != SQLITE_OK)
        return failed(q, e);
    int rc = sqlite3_step(q->s);
    q->column = 0;
    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE) {
        q->rc = rc;
        return failed(q, e);
    }
    stmt_end(q);
    return 0;
}

int stmt_run(struct stmt *q, int *changed, struct err *e)
{
    int rc = stmt_row(q, e);
    if (rc < 0)
        return rc;
    stmt_end(q);
    if (changed)
        *changed = sqlite3_changes(q->db->sq);
    return 0;
}

int stmt_one(struct stmt *q, const char *what, struct err *e)
{
    int rc = stmt_row(q, e);
    if (rc == 0)
        return err_set(e, HW_ENOTFOUND, "no such %s", what);
    return rc < 0 ? rc : 0;
}

void stmt_end(struct stmt *q)
{
    if (q->s)
        (void)sqlite3_reset(q->s);
}

int64_t col_int(struct stmt *q)
{
    return sqlite3_column_int64(q->s, q->column++);
}

double col_double(struct stmt *q)
{
    return sqlite3_column_double(q->s, q->column++);
}

void col_text(struct stmt *q, char *out, size_t cap)
{
    const unsigned char *text = sqlite3_column_text(q->s, q->column++);
    size_t len = text ? strlen((const char *)text) : 0;
    if (len >= cap)
        len = cap - 1;
    if (len)
        memcpy(out, text, len);
    out[len] = '\0';
}

void *col_blob_dup(struct stmt *q, size_t *len)
{
    int type = sqlite3_column_type(q->s, q->column);
    const void *data = sqlite3_column_blob(q->s, q->column);
    int n = sqlite3_column_bytes(q->s, q->column);
    q->column++;
    *len = 0;
    if (type == SQLITE_NULL)
        return NULL;
    unsigned char *copy = malloc((size_t)n + 1);
    if (!copy) {
        q->rc = SQLITE_NOMEM;
        return NULL;
    }
    if (n)
        memcpy(copy, data, (size_t)n);
    copy[n] = '\0';
    *len = (size_t)n;
    return copy;
}

char *col_text_dup(struct stmt *q)
{
    size_t len;
    return col_blob_dup(q, &len);
}

void col_bytes(struct stmt *q, void *out, size_t len)
{
    const void *data = sqlite3_column_blob(q->s, q->column);
    int n = sqlite3_column_bytes(q->s, q->column);
    q->column++;
    memset(out, 0, len);
    if (data && n > 0)
        memcpy(out, data, (size_t)n < len ? (size_t)n : len);
}

void col_id(struct stmt *q, struct hw_id *out)
{
    col_bytes(q, out->b, sizeof out->b);
}

void col_ip(struct stmt *q, struct ipaddr *out)
{
    int n = sqlite3_column_bytes(q->s, q->column);
    *out = (struct ipaddr){.family = n == 4 ? 4 : n == 16 ? 6 : 0};
    col_bytes(q, out->b, sizeof out->b);
}

void col_common(struct stmt *q, struct store_common *c)
{
    c->created_at = col_int(q);
    c->updated_at = col_int(q);
    c->revision = (uint64_t)col_int(q);
}

/* Room doubles at each power of two, so n alone tells how much there is. */
void *rows_add(void **list, size_t *n, size_t size)
{
    if ((*n & (*n - 1)) == 0) {
        size_t room = *n ? *n * 2 : 1;
        void *p = reallocarray(*list, room, size);
        if (!p)
            return NULL;
        *list = p;
    }
    void *row = (char *)*list + *n * size;
    (*n)++;
    memset(row, 0, size);
    return row;
}
