#include "controller/store/denial.h"
#include "controller/store/stmt.h"
#include <stdio.h>
#include <stdlib.h>

#define META_FLOOR "denials_floor" /* highest number that an agent was heard to know */

int store_denial_number(struct db *db, uint64_t *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT MAX(COALESCE((SELECT MAX(number) FROM denials), 0),"
                                 " COALESCE((SELECT MAX(number) FROM ended_permissions), 0))");
    int rc = stmt_one(&q, "denial", e);
    if (rc)
        return rc;
    *out = (uint64_t)col_int(&q);
    stmt_end(&q);
    return 0;
}

int store_denial_known(struct db *db, uint64_t *out, struct err *e)
{
    char *text = NULL;
    uint64_t number = 0, floor = 0;
    int rc = store_denial_number(db, &number, e);
    if (!rc)
        rc = store_meta_get(db, META_FLOOR, &text, e);
    if (!rc)
        floor = strtoull(text, NULL, 10);
    free(text);
    if (rc && rc != HW_ENOTFOUND)
        return rc;
    *out = number > floor ? number : floor;
    return 0;
}

int store_denial_raise(struct db *db, uint64_t floor, struct err *e)
{
    uint64_t known;
    int rc = store_denial_known(db, &known, e);
    if (rc || floor <= known)
        return rc;
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)floor);
    return store_meta_set(db, META_FLOOR, text, e);
}

static int remember_peers(struct db *db, const struct hw_id *gateway_id, uint64_t number,
                          struct err *e)
{
    struct stmt q =
        stmt_get(db, "INSERT OR REPLACE INTO denial_peers SELECT ?1,"
                     " CASE gateway_a_id WHEN ?1 THEN gateway_b_id ELSE gateway_a_id END, ?2"
                     " FROM links WHERE gateway_a_id = ?1 OR gateway_b_id = ?1");
    stmt_id(&q, gateway_id);
    stmt_int(&q, (int64_t)number);
    return stmt_run(&q, NULL, e);
}

int store_denial_add(struct db *db, const struct hw_id *gateway_id, struct err *e)
{
    uint64_t number = 0;
    int rc = store_denial_known(db, &number, e);
    if (rc)
        return rc;
    number++;
    struct stmt q = stmt_get(db, "INSERT OR REPLACE INTO denials VALUES (?, ?, NULL, ?)");
    stmt_int(&q, (int64_t)number);
    stmt_id(&q, gateway_id);
    stmt_int(&q, store_now(db));
    rc = stmt_run(&q, NULL, e);
    if (rc)
        return rc;
    q = stmt_get(db, "INSERT OR REPLACE INTO denials SELECT ?1, NULL, serial, ?2"
                     " FROM certificates WHERE gateway_id = ?3 AND not_after > ?2");
    stmt_int(&q, (int64_t)number);
    stmt_int(&q, store_now(db));
    stmt_id(&q, gateway_id);
    rc = stmt_run(&q, NULL, e);
    return rc ? rc : remember_peers(db, gateway_id, number, e);
}

static int denied_gateways(struct db *db, struct hw_id **out, size_t *n, struct err *e)
{
    void *list = NULL;
    struct stmt q =
        stmt_get(db, "SELECT gateway_id FROM denials WHERE gateway_id NOT NULL ORDER BY 1");
    int rc;
    *n = 0;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct hw_id *id = rows_add(&list, n, sizeof *id);
        if (!id) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        col_id(&q, id);
    }
    stmt_end(&q);
    *out = list;
    return rc < 0 ? rc : 0;
}

static int denied_serials(struct db *db, char (**out)[64], size_t *n, struct err *e)
{
    void *list = NULL;
    struct stmt q = stmt_get(db, "SELECT serial FROM denials WHERE serial NOT NULL ORDER BY 1");
    int rc;
    *n = 0;
    while ((rc = stmt_row(&q, e)) == 1) {
        char(*serial)[64] = rows_add(&list, n, sizeof *serial);
        if (!serial) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        col_text(&q, *serial, sizeof *serial);
    }
    stmt_end(&q);
    *out = list;
    return rc < 0 ? rc : 0;
}

int store_denial_all(struct db *db, struct hw_id **gateway_ids, size_t *n_gateways,
                     char (**serials)[64], size_t *n_serials, struct err *e)
{
    *serials = NULL;
    int rc = denied_gateways(db, gateway_ids, n_gateways, e);
    if (!rc)
        rc = denied_serials(db, serials, n_serials, e);
    if (rc) {
        free(*gateway_ids);
        free(*serials);
    }
    return rc;
}

bool store_denial_serial(struct db *db, const char *serial)
{
    struct stmt q = stmt_get(db, "SELECT 1 FROM denials WHERE serial = ?");
    stmt_text(&q, serial);
    int rc = stmt_row(&q, NULL);
    stmt_end(&q);
    return rc != 0; /* a store that can't be read refuses */
}

int store_denial_unconfirmed(struct db *db, const struct hw_id *gateway_id, struct hw_id **out,
                             size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT p.peer_id FROM denial_peers p"
                                 " JOIN gateways g ON g.id = p.peer_id AND g.state = 1"
                                 " LEFT JOIN telemetry_last t ON t.gateway_id = p.peer_id"
                                 " WHERE p.gateway_id = ?"
                                 " AND COALESCE(t.denials_revision, 0) < p.number ORDER BY 1");
    stmt_id(&q, gateway_id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct hw_id *id = rows_add(&list, &count, sizeof *id);
        if (!id) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        col_id(&q, id);
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

int store_denial_prune(struct db *db, int64_t now, unsigned *removed, struct err *e)
{
    int changed = 0;
    struct stmt q =
        stmt_get(db, "DELETE FROM denials WHERE created_at <= ?1"
                     " AND number < (SELECT MAX(number) FROM denials)"
                     " AND NOT EXISTS (SELECT 1 FROM gateways g WHERE g.id = denials.gateway_id)"
                     " AND NOT EXISTS (SELECT 1 FROM certificates c WHERE c.not_after > ?1"
                     " AND (c.serial = denials.serial OR c.gateway_id = denials.gateway_id))");
    stmt_int(&q, now - DENIAL_KEPT_S);
    int rc = stmt_run(&q, &changed, e);
    if (rc)
        return rc;
    *removed = (unsigned)changed;
    q = stmt_get(db, "DELETE FROM ended_permissions WHERE ends_at <= ?"
                     " AND number < (SELECT MAX(number) FROM ended_permissions)");
    stmt_int(&q, now - DENIAL_KEPT_S);
    rc = stmt_run(&q, &changed, e);
    if (rc)
        return rc;
    *removed += (unsigned)changed;
    q = stmt_get(db, "DELETE FROM denial_peers WHERE gateway_id NOT IN"
                     " (SELECT gateway_id FROM denials WHERE gateway_id NOT NULL)");
    rc = stmt_run(&q, NULL, e);
    if (rc)
        return rc;
    q = stmt_get(db, "DELETE FROM certificates WHERE not_after <= ?");
    stmt_int(&q, now - DENIAL_KEPT_S);
    return stmt_run(&q, NULL, e);
}
