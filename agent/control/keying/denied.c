#include "agent/control/keying/denied.h"
#include <stdlib.h>
#include <string.h>

int denied_set(struct denied *d, const struct hw_id *gateways, size_t n_gateways,
               const char *const *serials, size_t n_serials, struct err *e)
{
    struct denied fresh = {.n_gateways = n_gateways, .n_serials = n_serials};
    fresh.gateways = calloc(n_gateways + 1, sizeof *fresh.gateways);
    fresh.serials = calloc(n_serials + 1, sizeof *fresh.serials);
    if (!fresh.gateways || !fresh.serials) {
        denied_done(&fresh);
        return err_set(e, HW_ENOMEM, "denials: out of memory");
    }
    if (n_gateways)
        memcpy(fresh.gateways, gateways, n_gateways * sizeof *gateways);
    for (size_t i = 0; i < n_serials; i++) {
        size_t len = strlen(serials[i]);
        if (len == 0 || len >= sizeof fresh.serials[i]) {
            denied_done(&fresh);
            return err_set(e, HW_EINVAL, "denials: serial %zu is none", i);
        }
        memcpy(fresh.serials[i], serials[i], len + 1);
    }
    fresh.permissions = d->permissions;
    fresh.n_permissions = d->n_permissions;
    d->permissions = NULL;
    denied_done(d);
    *d = fresh;
    return 0;
}

int denied_set_permissions(struct denied *d, const struct hw_id *ids, size_t n, struct err *e)
{
    struct hw_id *fresh = calloc(n + 1, sizeof *fresh);
    if (!fresh)
        return err_set(e, HW_ENOMEM, "denials: out of memory");
    if (n)
        memcpy(fresh, ids, n * sizeof *ids);
    free(d->permissions);
    d->permissions = fresh;
    d->n_permissions = n;
    return 0;
}

void denied_done(struct denied *d)
{
    free(d->gateways);
    free(d->serials);
    free(d->permissions);
    *d = (struct denied){0};
}

static bool has_id(const struct hw_id *ids, size_t n, const struct hw_id *id)
{
    for (size_t i = 0; i < n; i++)
        if (id_equal(&ids[i], id))
            return true;
    return false;
}

bool denied_gateway(const struct denied *d, const struct hw_id *id)
{
    return has_id(d->gateways, d->n_gateways, id);
}

bool denied_permission(const struct denied *d, const struct hw_id *id)
{
    return has_id(d->permissions, d->n_permissions, id);
}

bool denied_serial(const struct denied *d, const char *serial)
{
    for (size_t i = 0; i < d->n_serials; i++)
        if (strcmp(d->serials[i], serial) == 0)
            return true;
    return false;
}
