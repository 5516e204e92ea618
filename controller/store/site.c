#include "controller/store/site.h"
#include "controller/store/stmt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                    \
    "id, name, provider, region, role, domain, trusted_underlay, takeover,"                        \
    " created_at, updated_at, revision"

/* Highest address of the prefix. */
static struct ipaddr prefix_last(const struct prefix *p)
{
    struct ipaddr a = p->addr;
    for (unsigned bit = p->len; bit < ipaddr_bits(&a); bit++)
        a.b[bit / 8] |= (uint8_t)(0x80u >> (bit % 8));
    return a;
}

static void read_site(struct stmt *q, struct store_site *s)
{
    col_id(q, &s->id);
    col_text(q, s->name, sizeof s->name);
    col_text(q, s->provider, sizeof s->provider);
    col_text(q, s->region, sizeof s->region);
    s->role = col_int(q) == SITE_TRANSIT ? SITE_TRANSIT : SITE_SPOKE;
    col_text(q, s->domain, sizeof s->domain);
    s->trusted_underlay = col_int(q) != 0;
    col_text(q, s->takeover, sizeof s->takeover);
    col_common(q, &s->common);
}

static int read_cidrs(struct db *db, struct store_site *s, struct err *e)
{
    struct stmt q =
        stmt_get(db, "SELECT first, length FROM site_cidrs WHERE site_id = ? ORDER BY position");
    stmt_id(&q, &s->id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1 && s->n_cidrs < HW_SITE_CIDRS_MAX) {
        struct prefix *p = &s->cidrs[s->n_cidrs++];
        col_ip(&q, &p->addr);
        p->len = (uint8_t)col_int(&q);
    }
    stmt_end(&q);
    return rc < 0 ? rc : 0;
}

static int write_cidrs(struct db *db, const struct store_site *s, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM site_cidrs WHERE site_id = ?");
    stmt_id(&q, &s->id);
    int rc = stmt_run(&q, NULL, e);
    for (size_t i = 0; i < s->n_cidrs && !rc; i++) {
        struct ipaddr last = prefix_last(&s->cidrs[i]);
        q = stmt_get(db, "INSERT INTO site_cidrs VALUES (?, ?, ?, ?, ?, ?)");
        stmt_id(&q, &s->id);
        stmt_int(&q, (int64_t)i);
        stmt_int(&q, s->cidrs[i].addr.family);
        stmt_int(&q, s->cidrs[i].len);
        stmt_ip(&q, &s->cidrs[i].addr);
        stmt_ip(&q, &last);
        rc = stmt_run(&q, NULL, e);
    }
    return rc;
}

/* All but the id, in the order of COLUMNS. */
static void bind_site(struct stmt *q, struct store_site *s)
{
    stmt_text(q, s->name);
    stmt_text(q, s->provider);
    stmt_text(q, s->region);
    stmt_int(q, s->role);
    stmt_text(q, s->domain);
    stmt_int(q, s->trusted_underlay);
    stmt_text(q, s->takeover);
    stmt_common(q, &s->common);
}

int store_site_insert(struct db *db, struct store_site *s, struct err *e)
{
    struct stmt q =
        stmt_get(db, "INSERT INTO sites (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &s->id);
    bind_site(&q, s);
    int rc = stmt_run(&q, NULL, e);
    return rc ? rc : write_cidrs(db, s, e);
}

int store_site_update(struct db *db, struct store_site *s, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "UPDATE sites SET name = ?, provider = ?, region = ?, role = ?,"
                                 " domain = ?, trusted_underlay = ?, takeover = ?, created_at = ?,"
                                 " updated_at = ?, revision = ? WHERE id = ?");
    bind_site(&q, s);
    stmt_id(&q, &s->id);
    int rc = stmt_run(&q, &changed, e);
    if (!rc && !changed)
        rc = err_set(e, HW_ENOTFOUND, "no such site");
    return rc ? rc : write_cidrs(db, s, e);
}

int store_site_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM sites WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such site");
}

int store_site_get(struct db *db, const struct hw_id *id, struct store_site *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM sites WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "site", e);
    if (rc)
        return rc;
    *out = (struct store_site){0};
    read_site(&q, out);
    stmt_end(&q);
    return read_cidrs(db, out, e);
}

int store_site_list(struct db *db, const struct store_page *page, struct store_site **out,
                    size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q =
        stmt_get(db, "SELECT " COLUMNS " FROM sites WHERE name > ? ORDER BY name LIMIT ?");
    stmt_text(&q, page->after ? page->after : "");
    stmt_int(&q, page->limit);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_site *s = rows_add(&list, &count, sizeof *s);
        if (!s) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_site(&q, s);
    }
    stmt_end(&q);
    for (size_t i = 0; i < count && rc >= 0; i++)
        rc = read_cidrs(db, (struct store_site *)list + i, e);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

int store_site_all(struct db *db, struct store_site **out, size_t *n, struct err *e)
{
    return store_site_list(db, &(struct store_page){.limit = UINT32_MAX}, out, n, e);
}

int store_site_overlap(struct db *db, const struct prefix *p, const struct hw_id *except,
                       struct prefix *other, char site_name[HW_NAME_MAX + 1], struct err *e)
{
    struct ipaddr last = prefix_last(p);
    struct stmt q = stmt_get(db, "SELECT c.first, c.length, s.name FROM site_cidrs c"
                                 " JOIN sites s ON s.id = c.site_id"
                                 " WHERE c.family = ? AND c.first <= ? AND c.last >= ?"
                                 " AND c.site_id IS NOT ? ORDER BY s.name, c.position LIMIT 1");
    stmt_int(&q, p->addr.family);
    stmt_ip(&q, &last);
    stmt_ip(&q, &p->addr);
    stmt_id(&q, except);
    int rc = stmt_one(&q, "overlap", e);
    if (rc)
        return rc;
    col_ip(&q, &other->addr);
    other->len = (uint8_t)col_int(&q);
    col_text(&q, site_name, HW_NAME_MAX + 1);
    stmt_end(&q);
    return 0;
}

int store_site_dependents(struct db *db, const struct hw_id *id, char *out, size_t cap,
                          struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT 'connection ' || name FROM connections"
                                 " WHERE site_a_id = ?1 OR site_b_id = ?1"
                                 " UNION ALL SELECT 'gateway ' || name FROM gateways"
                                 " WHERE site_id = ?1"
                                 " UNION ALL SELECT 'ruleset ' || name FROM rulesets"
                                 " WHERE site_id = ?1"
                                 " UNION ALL SELECT 'address group ' || name FROM address_groups"
                                 " WHERE site_id = ?1");
    stmt_id(&q, id);
    size_t used = 0;
    out[0] = '\0';
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        char what[HW_NAME_MAX + 16];
        col_text(&q, what, sizeof what);
        int len = snprintf(out + used, cap - used, "%s%s", used ? ", " : "", what);
        if (len < 0 || (size_t)len >= cap - used) {
            out[used] = '\0';
            break;
        }
        used += (size_t)len;
    }
    stmt_end(&q);
    return rc < 0 ? rc : 0;
}
