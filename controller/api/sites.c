#include "common/ipaddr.h"
#include "controller/api/api.h"
#include "controller/api/resource.h"
#include "controller/firewall/checks.h"
#include "controller/store/connection.h"
#include "controller/store/overlay_pools.h"
#include "controller/store/site.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const members[] = {"name",  "provider", "region",           "role", "domain",
                                      "cidrs", "takeover", "trusted_underlay", NULL};
static const char *const providers[] = {"aws", "azure", "gcp", "oci", "vsphere", "onprem", NULL};
static const char *const roles[] = {"spoke", "transit", NULL}; /* in the order of enum site_role */
static const char *const takeovers[] = {"none", "arp", "ecmp", "cloud_routes", NULL};

/* --- JSON --- */

static int put_site(struct json_writer *w, const struct resource_context *c, const void *row,
                    struct err *e)
{
    const struct store_site *s = row;
    (void)c, (void)e;
    json_put_id(w, "id", &s->id);
    json_put_str(w, "name", s->name);
    json_put_str(w, "provider", s->provider);
    json_put_str(w, "region", s->region[0] ? s->region : NULL);
    json_put_str(w, "role", roles[s->role]);
    json_put_str(w, "domain", s->domain);
    json_open_array(w, "cidrs");
    for (size_t i = 0; i < s->n_cidrs; i++)
        json_put_prefix(w, NULL, &s->cidrs[i]);
    json_close(w);
    json_put_bool(w, "trusted_underlay", s->trusted_underlay);
    json_put_str(w, "takeover", s->takeover);
    body_put_common(w, &s->common);
    return 0;
}

/* A prefix with its length, as hosts could use it; the default routes are kept for later. */
static int read_prefix(const struct json_at *at, struct prefix *p, struct err *e)
{
    const char *text;
    int rc = json_as_str(at, PREFIX_TEXT_MAX, &text, e);
    if (!rc && !strchr(text, '/'))
        rc = json_refuse(at, e, "a prefix needs its length, as in 10.1.0.0/16");
    if (!rc)
        rc = json_as_prefix(at, p, e);
    if (rc)
        return rc;
    if (p->len == 0)
        return json_refuse(at, e, "the default route is reserved and can't be a site's prefix yet");
    if (prefix_has_special(p))
        return json_refuse(at, e, "hosts can't have addresses of this prefix");
    return 0;
}

static int read_cidrs(const struct json_at *top, struct store_site *s, struct err *e)
{
    struct json_at array;
    size_t n;
    int rc = json_get_array(top, "cidrs", HW_SITE_CIDRS_MAX, &array, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at at = json_element(&array, i);
        rc = read_prefix(&at, &s->cidrs[i], e);
        for (size_t k = 0; k < i && !rc; k++) {
            char text[PREFIX_TEXT_MAX];
            if (prefix_overlaps(&s->cidrs[k], &s->cidrs[i]))
                rc = json_refuse(&at, e, "overlaps %s of the same site",
                                 prefix_text(&s->cidrs[k], text));
        }
    }
    if (!rc)
        s->n_cidrs = n;
    return rc;
}

static int read_word(const struct json_at *top, const char *key, const char *const *words,
                     char out[STORE_SHORT_TEXT], struct err *e)
{
    unsigned i;
    int rc = json_get_enum(top, key, words, &i, e);
    if (!rc)
        (void)snprintf(out, STORE_SHORT_TEXT, "%s", words[i]);
    return rc;
}

static int read_region(const struct json_at *top, struct store_site *s, struct err *e)
{
    if (json_presence(top, "region") == JSON_NULL) {
        s->region[0] = '\0';
        return 0;
    }
    int rc = json_get_text(top, "region", s->region, sizeof s->region, e);
    if (!rc && (!s->region[0] || strspn(s->region, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                                                   "UVWXYZ0123456789._-") != strlen(s->region)))
        rc = err_set_field(e, HW_EINVAL, "region", "letters, digits, '.', '_' and '-' alone");
    return rc;
}

static int read_site(const struct json_at *top, enum body_mode mode, void *row, struct err *e)
{
    struct store_site *s = row;
    int rc = 0;
    if (body_wants(top, "name", mode, true))
        rc = json_get_name(top, "name", s->name, e);
    if (!rc && body_wants(top, "provider", mode, true))
        rc = read_word(top, "provider", providers, s->provider, e);
    if (!rc && body_wants(top, "region", mode, false))
        rc = read_region(top, s, e);
    if (!rc && body_wants(top, "role", mode, true)) {
        unsigned role = 0;
        rc = json_get_enum(top, "role", roles, &role, e);
        s->role = role == SITE_TRANSIT ? SITE_TRANSIT : SITE_SPOKE;
    }
    if (!rc && body_wants(top, "domain", mode, false))
        rc = json_get_name(top, "domain", s->domain, e);
    if (!rc && body_wants(top, "cidrs", mode, false))
        rc = read_cidrs(top, s, e);
    if (!rc && body_wants(top, "takeover", mode, false))
        rc = read_word(top, "takeover", takeovers, s->takeover, e);
    if (!rc && body_wants(top, "trusted_underlay", mode, false))
        rc = json_get_bool(top, "trusted_underlay", &s->trusted_underlay, e);
    return rc;
}

/* --- rules that need the store --- */

static int check_overlap(struct db *db, const struct store_site *s, size_t i,
                         const struct prefix pools[OVERLAY_POOLS], struct err *e)
{
    char field[32], text[PREFIX_TEXT_MAX], site[HW_NAME_MAX + 1];
    struct prefix other;
    (void)snprintf(field, sizeof field, "cidrs[%zu]", i);
    for (size_t k = 0; k < OVERLAY_POOLS; k++)
        if (prefix_overlaps(&pools[k], &s->cidrs[i]))
            return err_set_field(e, HW_ECONFLICT, field, "overlaps the overlay pool %s",
                                 prefix_text(&pools[k], text));
    int rc = store_site_overlap(db, &s->cidrs[i], &s->id, &other, site, e);
    if (!rc)
        return err_set_field(e, HW_ECONFLICT, field, "overlaps %s of site %s",
                             prefix_text(&other, text), site);
    return rc == HW_ENOTFOUND ? 0 : rc;
}

static int check_overlaps(struct db *db, const struct store_site *s, struct err *e)
{
    struct prefix pools[OVERLAY_POOLS];
    int rc = store_overlay_pools(db, pools, e);
    for (size_t i = 0; i < s->n_cidrs && !rc; i++)
        rc = check_overlap(db, s, i, pools, e);
    return rc;
}

/* A connection's kind follows from its sites' roles. */
static int check_role_change(struct db *db, const struct store_site *old,
                             const struct store_site *new, struct err *e)
{
    struct store_connection *list = NULL;
    size_t n = 0;
    if (!old || old->role == new->role)
        return 0;
    int rc = store_connection_list(db, &(struct store_page){.limit = 1}, &old->id, &list, &n, e);
    if (!rc && n)
        rc = err_set_field(e, HW_ECONFLICT, "role",
                           "the role can't change while connections use the site: delete "
                           "connection %s first",
                           list[0].name);
    free(list);
    return rc;
}

static int check_site(struct db *db, const void *old, void *row, struct err *e)
{
    int rc = check_role_change(db, old, row, e);
    return rc ? rc : check_overlaps(db, row, e);
}

/* --- the resource --- */

static void defaults(void *row)
{
    struct store_site *s = row;
    (void)snprintf(s->domain, sizeof s->domain, "default");
    (void)snprintf(s->takeover, sizeof s->takeover, "none");
}

RESOURCE_STORE(site)

static bool same_cidrs(const struct store_site *a, const struct store_site *b)
{
    bool same = a->n_cidrs == b->n_cidrs;
    for (size_t i = 0; same && i < a->n_cidrs; i++)
        same = prefix_equal(&a->cidrs[i], &b->cidrs[i]);
    return same;
}

/* Its rules must still be about its addresses. */
static int update_site_and_check(struct db *db, void *row, struct err *e)
{
    const struct store_site *s = row;
    struct store_site was;
    int rc = store_site_get(db, &s->id, &was, e);
    rc = rc ? rc : update_site(db, row, e);
    return rc || same_cidrs(&was, s) ? rc : firewall_check_site(db, &s->id, "cidrs", e);
}

static int list_sites(struct db *db, const struct http_request *req, const struct store_page *page,
                      void **rows, size_t *n, struct err *e)
{
    struct store_site *list = NULL;
    (void)req;
    int rc = store_site_list(db, page, &list, n, e);
    *rows = list;
    return rc;
}

static int remove_site(struct db *db, void *row, struct err *e)
{
    const struct store_site *s = row;
    char dependents[ERR_TEXT_MAX / 2];
    int rc = store_site_dependents(db, &s->id, dependents, sizeof dependents, e);
    if (!rc && dependents[0])
        rc = err_set(e, HW_ECONFLICT, "delete these first: %s", dependents);
    return rc ? rc : store_site_delete(db, &s->id, e);
}

const struct resource sites = {
    .path = "/api/v1/sites",
    .members = members,
    .changes = members,
    .size = sizeof(struct store_site),
    .id = offsetof(struct store_site, id),
    .common = offsetof(struct store_site, common),
    .key = offsetof(struct store_site, name),
    .planned = true,
    .defaults = defaults,
    .read = read_site,
    .check = check_site,
    .put = put_site,
    .get = get_site,
    .list = list_sites,
    .insert = insert_site,
    .update = update_site_and_check,
    .remove = remove_site,
};
