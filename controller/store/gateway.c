#include "controller/store/gateway.h"
#include "controller/store/overlay_pools.h"
#include "controller/store/stmt.h"
#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                    \
    "id, name, site_id, size, port_base, weight, state, overlay4, overlay6,"                       \
    " endpoints_by_operator, interfaces, workers, agent_version, boot_id, cert_serial,"            \
    " cert_not_after, cloud_provider, cloud_region, cloud_size, created_at, updated_at, revision"

void store_gateway_done(struct store_gateway *g)
{
    free(g->interfaces_json);
    g->interfaces_json = NULL;
}

void store_gateway_free(struct store_gateway *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store_gateway_done(&list[i]);
    free(list);
}

const char *gateway_state_name(enum gateway_state s)
{
    static const char *const names[] = {"pending", "enrolled", "revoked"};
    return names[s];
}

static enum gateway_state read_state(struct stmt *q)
{
    int64_t v = col_int(q);
    return v == GATEWAY_ENROLLED  ? GATEWAY_ENROLLED
           : v == GATEWAY_PENDING ? GATEWAY_PENDING
                                  : GATEWAY_REVOKED;
}

static void read_gateway(struct stmt *q, struct store_gateway *g)
{
    col_id(q, &g->id);
    col_text(q, g->name, sizeof g->name);
    col_id(q, &g->site_id);
    col_text(q, g->size, sizeof g->size);
    g->port_base = (uint16_t)col_int(q);
    g->weight = (unsigned)col_int(q);
    g->state = read_state(q);
    col_ip(q, &g->overlay4);
    col_ip(q, &g->overlay6);
    g->endpoints_by_operator = col_int(q) != 0;
    g->interfaces_json = col_text_dup(q);
    g->workers = (unsigned)col_int(q);
    col_text(q, g->agent_version, sizeof g->agent_version);
    col_text(q, g->boot_id, sizeof g->boot_id);
    col_text(q, g->cert_serial, sizeof g->cert_serial);
    g->cert_not_after = col_int(q);
    col_text(q, g->cloud.provider, sizeof g->cloud.provider);
    col_text(q, g->cloud.region, sizeof g->cloud.region);
    col_text(q, g->cloud.size, sizeof g->cloud.size);
    col_common(q, &g->common);
}

static int read_endpoints(struct db *db, struct store_gateway *g, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT address, is_public, reachable FROM gateway_endpoints"
                                 " WHERE gateway_id = ? ORDER BY position");
    stmt_id(&q, &g->id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1 && g->n_endpoints < HW_ENDPOINTS_MAX) {
        struct store_endpoint *p = &g->endpoints[g->n_endpoints++];
        col_ip(&q, &p->address);
        p->is_public = col_int(&q) != 0;
        p->reachable = col_int(&q) != 0;
    }
    stmt_end(&q);
    return rc < 0 ? rc : 0;
}

static int write_endpoints(struct db *db, const struct store_gateway *g, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM gateway_endpoints WHERE gateway_id = ?");
    stmt_id(&q, &g->id);
    int rc = stmt_run(&q, NULL, e);
    for (size_t i = 0; i < g->n_endpoints && !rc; i++) {
        q = stmt_get(db, "INSERT INTO gateway_endpoints VALUES (?, ?, ?, ?, ?)");
        stmt_id(&q, &g->id);
        stmt_int(&q, (int64_t)i);
        stmt_ip(&q, &g->endpoints[i].address);
        stmt_int(&q, g->endpoints[i].is_public);
        stmt_int(&q, g->endpoints[i].reachable);
        rc = stmt_run(&q, NULL, e);
    }
    return rc;
}

static void bind_fields(struct stmt *q, struct store_gateway *g)
{
    stmt_id(q, &g->site_id);
    stmt_text(q, g->name);
    stmt_text(q, g->size);
    stmt_int(q, g->port_base);
    stmt_int(q, g->weight);
    stmt_int(q, g->state);
    stmt_int(q, g->endpoints_by_operator);
    stmt_text(q, g->interfaces_json);
    stmt_int(q, g->workers);
    stmt_text(q, g->agent_version);
    stmt_text(q, g->boot_id);
    stmt_text(q, g->cert_serial);
    stmt_int(q, g->cert_not_after);
    stmt_text(q, g->cloud.provider);
    stmt_text(q, g->cloud.region);
    stmt_text(q, g->cloud.size);
    stmt_common(q, &g->common);
}

int store_gateway_insert(struct db *db, struct store_gateway *g, struct err *e)
{
    int rc = g->overlay4.family ? 0 : store_overlay_alloc(db, &g->overlay4, &g->overlay6, e);
    if (rc)
        return rc;
    struct stmt q =
        stmt_get(db, "INSERT INTO gateways (id, overlay4, overlay6, site_id, name, size, port_base,"
                     " weight, state, endpoints_by_operator, interfaces, workers, agent_version,"
                     " boot_id, cert_serial, cert_not_after, cloud_provider, cloud_region,"
                     " cloud_size, created_at, updated_at, revision) VALUES"
                     " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &g->id);
    stmt_ip(&q, &g->overlay4);
    stmt_ip(&q, &g->overlay6);
    bind_fields(&q, g);
    rc = stmt_run(&q, NULL, e);
    return rc ? rc : write_endpoints(db, g, e);
}

int store_gateway_update(struct db *db, struct store_gateway *g, struct err *e)
{
    int changed = 0;
    struct stmt q =
        stmt_get(db, "UPDATE gateways SET site_id = ?, name = ?, size = ?, port_base = ?,"
                     " weight = ?, state = ?, endpoints_by_operator = ?, interfaces = ?,"
                     " workers = ?, agent_version = ?, boot_id = ?, cert_serial = ?,"
                     " cert_not_after = ?, cloud_provider = ?, cloud_region = ?, cloud_size = ?,"
                     " created_at = ?, updated_at = ?, revision = ?"
                     " WHERE id = ?");
    bind_fields(&q, g);
    stmt_id(&q, &g->id);
    int rc = stmt_run(&q, &changed, e);
    if (!rc && !changed)
        rc = err_set(e, HW_ENOTFOUND, "no such gateway");
    return rc ? rc : write_endpoints(db, g, e);
}

int store_gateway_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM gateways WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such gateway");
}

static int read_one(struct db *db, struct stmt *q, struct store_gateway *out, struct err *e)
{
    struct store_gateway g = {0};
    int rc = stmt_one(q, "gateway", e);
    if (rc)
        return rc;
    read_gateway(q, &g);
    stmt_end(q);
    rc = read_endpoints(db, &g, e);
    if (rc) {
        store_gateway_done(&g);
        return rc;
    }
    *out = g;
    return 0;
}

int store_gateway_get(struct db *db, const struct hw_id *id, struct store_gateway *out,
                      struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM gateways WHERE id = ?");
    stmt_id(&q, id);
    return read_one(db, &q, out, e);
}

int store_gateway_by_name(struct db *db, const char *name, struct store_gateway *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM gateways WHERE name = ?");
    stmt_text(&q, name);
    return read_one(db, &q, out, e);
}

int store_gateway_list(struct db *db, const struct store_page *page, const struct hw_id *site_id,
                       struct store_gateway **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM gateways WHERE name > ?1"
                                 " AND (?3 IS NULL OR site_id = ?3) ORDER BY name LIMIT ?2");
    stmt_text(&q, page->after ? page->after : "");
    stmt_int(&q, page->limit);
    stmt_id(&q, site_id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_gateway *g = rows_add(&list, &count, sizeof *g);
        if (!g) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_gateway(&q, g);
    }
    stmt_end(&q);
    for (size_t i = 0; i < count && rc >= 0; i++)
        rc = read_endpoints(db, (struct store_gateway *)list + i, e);
    if (rc < 0) {
        store_gateway_free(list, count);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

int store_gateway_all(struct db *db, struct store_gateway **out, size_t *n, struct err *e)
{
    return store_gateway_list(db, &(struct store_page){.limit = UINT32_MAX}, NULL, out, n, e);
}

int store_gateway_state(struct db *db, const struct hw_id *id, enum gateway_state *out,
                        struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT state FROM gateways WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "gateway", e);
    if (rc)
        return rc;
    *out = read_state(&q);
    stmt_end(&q);
    return 0;
}

int store_certificate_add(struct db *db, const struct hw_id *gateway_id, const char *serial,
                          int64_t not_after, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO certificates VALUES (?, ?, ?, ?)");
    stmt_text(&q, serial);
    stmt_id(&q, gateway_id);
    stmt_int(&q, store_now(db));
    stmt_int(&q, not_after);
    int rc = stmt_run(&q, NULL, e);
    if (rc)
        return rc;
    int changed = 0;
    q = stmt_get(db, "UPDATE gateways SET cert_serial = ?, cert_not_after = ? WHERE id = ?");
    stmt_text(&q, serial);
    stmt_int(&q, not_after);
    stmt_id(&q, gateway_id);
    rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such gateway");
}

int store_certificate_count(struct db *db, const struct hw_id *gateway_id, int64_t since,
                            unsigned *out, struct err *e)
{
    struct stmt q =
        stmt_get(db, "SELECT COUNT(*) FROM certificates WHERE gateway_id = ? AND issued_at >= ?");
    stmt_id(&q, gateway_id);
    stmt_int(&q, since);
    int rc = stmt_one(&q, "certificate", e);
    if (rc)
        return rc;
    *out = (unsigned)col_int(&q);
    stmt_end(&q);
    return 0;
}
