/* Body of the denials document (signed_doc.h). */
#include "common/json.h"
#include "common/limits.h"
#include "common/model/signed_doc.h"
#include <stdlib.h>
#include <string.h>

static int cmp_id(const void *a, const void *b)
{
    return id_cmp(a, b);
}

static int cmp_serial(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void put_ids(struct json_writer *w, const char *key, struct hw_id *ids, size_t n)
{
    if (n)
        qsort(ids, n, sizeof *ids, cmp_id);
    json_open_array(w, key);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !id_equal(&ids[i - 1], &ids[i]))
            json_put_id(w, NULL, &ids[i]);
    json_close(w);
}

char *denials_encode(struct denials *d, size_t *len)
{
    struct json_writer w;
    if (d->n_serials)
        qsort(d->serials, d->n_serials, sizeof *d->serials, cmp_serial);
    json_writer_init(&w);
    put_ids(&w, "gateway_ids", d->gateways, d->n_gateways);
    json_open_array(&w, "serials");
    for (size_t i = 0; i < d->n_serials; i++)
        if (i == 0 || strcmp(d->serials[i - 1], d->serials[i]) != 0)
            json_put_str(&w, NULL, d->serials[i]);
    json_close(&w);
    if (d->n_permissions)
        put_ids(&w, "permission_ids", d->permissions, d->n_permissions);
    return json_finish(&w, len);
}

static int get_ids(const struct json_at *top, const char *key, struct hw_id **ids, size_t *n_ids,
                   struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_room(top, key, DENIALS_ENTRIES_MAX, sizeof **ids, &a, ids, &n, e);
    if (rc || n == 0)
        return rc;
    *n_ids = n;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_as_id(&v, &(*ids)[i], e);
        if (!rc && i > 0 && id_cmp(&(*ids)[i - 1], &(*ids)[i]) >= 0)
            rc = json_refuse(&v, e, "ids must rise");
    }
    return rc;
}

static int get_serials(const struct json_at *top, struct denials *d, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_room(top, "serials", DENIALS_ENTRIES_MAX, sizeof *d->serials, &a, &d->serials,
                           &n, e);
    if (rc || n == 0)
        return rc;
    d->n_serials = n;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_as_text(&v, d->serials[i], sizeof d->serials[i], e);
        if (rc)
            break;
        size_t len = strlen(d->serials[i]);
        if (len == 0 || len % 2 != 0 || strspn(d->serials[i], "0123456789abcdef") != len)
            rc = json_refuse(&v, e, "whole bytes in hexadecimal are expected");
        else if (i > 0 && strcmp(d->serials[i - 1], d->serials[i]) >= 0)
            rc = json_refuse(&v, e, "serials must rise");
    }
    return rc;
}

int denials_decode(const char *json, size_t len, struct denials *out, struct err *e)
{
    static const char *const members[] = {"gateway_ids", "serials", "permission_ids", NULL};
    struct json_object *doc;
    struct denials d = {0};
    int rc = json_parse(json, len, HW_CONFIG_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = json_members(&top, members, e);
    rc = rc ? rc : get_ids(&top, "gateway_ids", &d.gateways, &d.n_gateways, e);
    rc = rc ? rc : get_serials(&top, &d, e);
    if (!rc && json_presence(&top, "permission_ids") != JSON_ABSENT)
        rc = get_ids(&top, "permission_ids", &d.permissions, &d.n_permissions, e);
    json_free(doc);
    if (rc)
        denials_done(&d);
    else
        *out = d;
    return rc;
}

void denials_done(struct denials *d)
{
    if (!d)
        return;
    free(d->gateways);
    free(d->serials);
    free(d->permissions);
    *d = (struct denials){0};
}

bool denials_has(const struct denials *d, const struct hw_id *gateway, const char *serial)
{
    if (gateway && d->n_gateways &&
        bsearch(gateway, d->gateways, d->n_gateways, sizeof *d->gateways, cmp_id))
        return true;
    return serial && d->n_serials &&
           bsearch(serial, d->serials, d->n_serials, sizeof *d->serials, cmp_serial);
}
