#include "controller/store/link.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

#define COLUMNS                                                                                    \
    "id, connection_id, kind, gateway_a_id, gateway_b_id, tunnels, tunnels_override, port_offset," \
    " enabled, address_a, address_b, refusal, tunnels_reason, created_at, updated_at, revision"

const char *link_kind_name(enum link_kind k)
{
    static const char *const names[] = {"", "attachment", "peering", "bypass"};
    return names[k];
}

static void read_link(struct stmt *q, struct store_link *l)
{
    col_id(q, &l->id);
    col_id(q, &l->connection_id);
    int64_t kind = col_int(q);
    l->kind = kind == LINK_PEERING  ? LINK_PEERING
              : kind == LINK_BYPASS ? LINK_BYPASS
                                    : LINK_ATTACHMENT;
    col_id(q, &l->gateway_a_id);
    col_id(q, &l->gateway_b_id);
    l->tunnels = (unsigned)col_int(q);
    l->tunnels_override = (unsigned)col_int(q);
    l->port_offset = (unsigned)col_int(q);
    l->enabled = col_int(q) != 0;
    col_ip(q, &l->address_a);
    col_ip(q, &l->address_b);
    col_text(q, l->refusal, sizeof l->refusal);
    col_text(q, l->tunnels_reason, sizeof l->tunnels_reason);
    col_common(q, &l->common);
}

static void bind_fields(struct stmt *q, struct store_link *l)
{
    stmt_id(q, id_is_zero(&l->connection_id) ? NULL : &l->connection_id);
    stmt_int(q, l->kind);
    stmt_id(q, &l->gateway_a_id);
    stmt_id(q, &l->gateway_b_id);
    stmt_int(q, l->tunnels);
    stmt_int(q, l->tunnels_override);
    stmt_int(q, l->port_offset);
    stmt_int(q, l->enabled);
    stmt_ip(q, &l->address_a);
    stmt_ip(q, &l->address_b);
    stmt_text(q, l->refusal);
    stmt_text(q, l->tunnels_reason);
    stmt_common(q, &l->common);
}

int store_link_insert(struct db *db, struct store_link *l, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO links (" COLUMNS ")"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &l->id);
    bind_fields(&q, l);
    return stmt_run(&q, NULL, e);
}

int store_link_update(struct db *db, struct store_link *l, struct err *e)
{
    int changed = 0;
    struct stmt q =
        stmt_get(db, "UPDATE links SET connection_id = ?, kind = ?, gateway_a_id = ?,"
                     " gateway_b_id = ?, tunnels = ?, tunnels_override = ?, port_offset = ?,"
                     " enabled = ?, address_a = ?, address_b = ?, refusal = ?,"
                     " tunnels_reason = ?, created_at = ?,"
                     " updated_at = ?, revision = ? WHERE id = ?");
    bind_fields(&q, l);
    stmt_id(&q, &l->id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such link");
}

int store_link_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM links WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such link");
}

int store_link_get(struct db *db, const struct hw_id *id, struct store_link *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM links WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "link", e);
    if (rc)
        return rc;
    *out = (struct store_link){0};
    read_link(&q, out);
    stmt_end(&q);
    return 0;
}

int store_link_list(struct db *db, const struct store_page *page, const struct hw_id *connection_id,
                    const struct hw_id *gateway_id, struct store_link **out, size_t *n,
                    struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct hw_id after = {0};
    if (page->after && id_parse(page->after, &after))
        return err_set_field(e, HW_EINVAL, "cursor", "not a cursor of this list");
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM links WHERE id > ?1"
                                 " AND (?3 IS NULL OR connection_id = ?3)"
                                 " AND (?4 IS NULL OR gateway_a_id = ?4 OR gateway_b_id = ?4)"
                                 " ORDER BY id LIMIT ?2");
    stmt_id(&q, &after);
    stmt_int(&q, page->limit);
    stmt_id(&q, connection_id);
    stmt_id(&q, gateway_id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_link *l = rows_add(&list, &count, sizeof *l);
        if (!l) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_link(&q, l);
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

int store_link_all(struct db *db, struct store_link **out, size_t *n, struct err *e)
{
    return store_link_list(db, &(struct store_page){.limit = UINT32_MAX}, NULL, NULL, out, n, e);
}
