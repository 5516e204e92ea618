#include "agent/control/cloud/facts.h"
#include "common/json.h"
#include <ctype.h>
#include <string.h>

#define FILE_MAX 16384
#define MTU_MIN  576
#define MTU_MAX  65535

int cloud_facts_name(const char *text, size_t len, char out[HW_NAME_MAX + 1], struct err *e)
{
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    while (len > 0 && isspace((unsigned char)*text)) {
        text++;
        len--;
    }
    if (len == 0 || len > HW_NAME_MAX)
        return err_set(e, HW_EINVAL, "a name of %zu characters", len);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
            return err_set(e, HW_EINVAL, "not a name");
    memcpy(out, text, len);
    out[len] = '\0';
    return 0;
}

int cloud_facts_get_name(const struct json_at *at, const char *key, char out[HW_NAME_MAX + 1],
                         struct err *e)
{
    const char *s;
    int rc = json_get_str(at, key, 4096, &s, e);
    rc = rc ? rc : cloud_facts_name(s, strlen(s), out, e);
    return rc ? err_wrap(e, "%s", key) : 0;
}

static int address(const char *text, struct ipaddr *out, struct err *e)
{
    if (ipaddr_parse(text, out) < 0 || ipaddr_is_special(out))
        return err_set(e, HW_EINVAL, "not a machine's address: %.60s", text);
    return 0;
}

/* Of one own address several may be translated to; of one public address it is one. */
static int add_translation(struct cloud_facts *f, const struct ipaddr *inside,
                           const struct ipaddr *outside, struct err *e)
{
    if (inside->family != outside->family)
        return err_set(e, HW_EINVAL, "a translation between address families");
    if (ipaddr_equal(inside, outside))
        return 0;
    for (size_t i = 0; i < f->n_translations; i++)
        if (ipaddr_equal(&f->translations[i].outside, outside))
            return 0;
    if (f->n_translations < CLOUD_TRANSLATIONS_MAX)
        f->translations[f->n_translations++] = (struct cloud_translation){*inside, *outside};
    return 0;
}

int cloud_facts_translate(struct cloud_facts *f, const char *inside, const char *outside,
                          struct err *e)
{
    struct ipaddr in, out;
    if (!inside[0] || !outside[0])
        return 0;
    int rc = address(inside, &in, e);
    rc = rc ? rc : address(outside, &out, e);
    return rc ? rc : add_translation(f, &in, &out, e);
}

bool cloud_facts_equal(const struct cloud_facts *a, const struct cloud_facts *b)
{
    bool same = node_cloud_equal(&a->where, &b->where) && a->n_translations == b->n_translations &&
                a->n_mtus == b->n_mtus;
    for (size_t i = 0; same && i < a->n_translations; i++)
        same = ipaddr_equal(&a->translations[i].inside, &b->translations[i].inside) &&
               ipaddr_equal(&a->translations[i].outside, &b->translations[i].outside);
    for (size_t i = 0; same && i < a->n_mtus; i++)
        same = ipaddr_equal(&a->mtus[i].address, &b->mtus[i].address) &&
               a->mtus[i].mtu == b->mtus[i].mtu;
    return same;
}

char *cloud_facts_encode(const struct cloud_facts *f, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    node_cloud_put(&w, &f->where);
    json_open_array(&w, "translations");
    for (size_t i = 0; i < f->n_translations; i++) {
        json_open_object(&w, NULL);
        json_put_ip(&w, "inside", &f->translations[i].inside);
        json_put_ip(&w, "outside", &f->translations[i].outside);
        json_close(&w);
    }
    json_close(&w);
    json_open_array(&w, "mtus");
    for (size_t i = 0; i < f->n_mtus; i++) {
        json_open_object(&w, NULL);
        json_put_ip(&w, "address", &f->mtus[i].address);
        json_put_uint(&w, "mtu", f->mtus[i].mtu);
        json_close(&w);
    }
    json_close(&w);
    return json_finish(&w, len);
}

static int decode_translations(const struct json_at *top, struct cloud_facts *f, struct err *e)
{
    struct json_at list;
    size_t n = 0;
    int rc = json_get_array(top, "translations", CLOUD_TRANSLATIONS_MAX, &list, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at at = json_element(&list, i);
        struct ipaddr inside, outside;
        rc = json_get_ip(&at, "inside", &inside, e);
        rc = rc ? rc : json_get_ip(&at, "outside", &outside, e);
        rc = rc ? rc : add_translation(f, &inside, &outside, e);
    }
    return rc;
}

static int decode_mtus(const struct json_at *top, struct cloud_facts *f, struct err *e)
{
    struct json_at list;
    int rc = json_get_array(top, "mtus", CLOUD_MTUS_MAX, &list, &f->n_mtus, e);
    for (size_t i = 0; !rc && i < f->n_mtus; i++) {
        struct json_at at = json_element(&list, i);
        rc = json_get_ip(&at, "address", &f->mtus[i].address, e);
        rc = rc ? rc : json_get_u32(&at, "mtu", MTU_MIN, MTU_MAX, &f->mtus[i].mtu, e);
    }
    return rc;
}

int cloud_facts_decode(const char *json, size_t len, struct cloud_facts *out, struct err *e)
{
    struct json_object *doc;
    struct cloud_facts f = {.n_mtus = 0};
    int rc = json_parse(json, len, FILE_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = node_cloud_get(&top, &f.where, e);
    rc = rc ? rc : decode_translations(&top, &f, e);
    rc = rc ? rc : decode_mtus(&top, &f, e);
    json_free(doc);
    if (!rc)
        *out = f;
    return rc;
}
