#include "agent/control/cloud/provider.h"
#include "common/b64url.h"
#include "common/secret.h"
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const struct cloud_provider *cloud_provider_find(const char *name)
{
    static const struct cloud_provider *const all[] = {&cloud_aws, &cloud_azure, &cloud_gcp,
                                                       &cloud_oci};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

void cloud_reading_done(struct cloud_reading *r)
{
    if (r->user_data)
        secret_wipe(r->user_data, r->user_data_len);
    free(r->user_data);
    secret_wipe(r, sizeof *r);
}

/* RFC 4648 section 4, made that of section 5. */
static char *to_b64url(const char *text, size_t len, size_t *out_len)
{
    char *s = malloc(len + 1);
    size_t n = 0;
    for (size_t i = 0; s && i < len; i++) {
        char c = text[i];
        if (isspace((unsigned char)c) || c == '=')
            continue;
        s[n++] = c == '+' ? '-' : c == '/' ? '_' : c;
    }
    *out_len = n;
    return s;
}

/* What is no base64 stays NULL. */
static int decode(const char *text, size_t len, char **out, size_t *out_len, struct err *e)
{
    size_t n;
    uint8_t *data;
    char *url = to_b64url(text, len, &n);
    if (!url)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = b64url_decode(url, n, &data, out_len);
    secret_wipe(url, n);
    free(url);
    if (rc == HW_ENOMEM)
        return err_set(e, rc, "out of memory");
    if (rc == 0)
        *out = (char *)data;
    return 0;
}

int cloud_take_user_data(struct cloud_reading *r, const struct cloud_answer *a, bool base64,
                         struct err *e)
{
    char *text = NULL;
    size_t len = 0;
    if (a->status != 200 || a->len == 0)
        return 0;
    if (base64) {
        int rc = decode(a->body, a->len, &text, &len, e);
        if (rc)
            return rc;
    } else {
        text = malloc(a->len + 1);
        if (!text)
            return err_set(e, HW_ENOMEM, "out of memory");
        memcpy(text, a->body, a->len);
        text[a->len] = '\0';
        len = a->len;
    }
    r->user_data = text;
    r->user_data_len = len;
    return 0;
}

int cloud_take_items(struct cloud_items *out, const struct cloud_answer *a, struct err *e)
{
    static const char allowed[] = "0123456789abcdefABCDEF:.";
    struct cloud_items list = {.n = 0};
    const char *p = a->body, *end = a->body + a->len;
    while (a->status == 200 && p < end && list.n < CLOUD_ITEMS_MAX) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((eol ? eol : end) - p);
        size_t item = n > 0 && p[n - 1] == '/' ? n - 1 : n;
        if (item >= CLOUD_ITEM_MAX)
            return err_set(e, HW_EINVAL, "not a list of addresses");
        memcpy(list.item[list.n], p, item);
        list.item[list.n][item] = '\0';
        if (item > 0) {
            if (strspn(list.item[list.n], allowed) != item)
                return err_set(e, HW_EINVAL, "not a list of addresses");
            list.n++;
        }
        p += n + 1;
    }
    *out = list;
    return 0;
}
