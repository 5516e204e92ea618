#include "controller/sizes/catalogue.h"
#include "controller/store/size.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define META_CATALOGUE "catalogue"

static int is_loaded(struct db *db, bool *loaded, struct err *e)
{
    char *version = NULL;
    int rc = store_meta_get(db, META_CATALOGUE, &version, e);
    *loaded = !rc && strcmp(version, catalogue_version) == 0;
    free(version);
    return rc == HW_ENOTFOUND ? 0 : rc;
}

static int put_size(struct db *db, const struct catalogue_size *c, struct hw_id *id, struct err *e)
{
    struct store_size s = {
        .id = id_new(), .vcpus = c->vcpus, .memory_bytes = c->memory_bytes, .nic_bps = c->nic_bps};
    (void)snprintf(s.provider, sizeof s.provider, "%s", c->provider);
    (void)snprintf(s.size, sizeof s.size, "%s", c->size);
    (void)snprintf(s.note, sizeof s.note, "%s", c->note);
    int rc = store_size_put(db, &s, e);
    *id = s.id;
    return rc;
}

static int put_figure(struct db *db, const struct catalogue_figure *c, const struct hw_id *size_id,
                      unsigned position, struct err *e)
{
    struct store_figure f = {.id = id_new(),
                             .size_id = *size_id,
                             .published = true,
                             .position = position,
                             .mtu = c->mtu,
                             .tcp_streams = c->tcp_streams,
                             .gro = c->gro,
                             .value = c->value,
                             .throughput_bps = c->throughput_bps,
                             .spread_bps = -1};
    (void)snprintf(f.source, sizeof f.source, "%s", c->source);
    (void)snprintf(f.role, sizeof f.role, "%s", c->role);
    (void)snprintf(f.encryption, sizeof f.encryption, "%s", c->encryption);
    (void)snprintf(f.metric, sizeof f.metric, "%s", c->metric);
    (void)snprintf(f.unit, sizeof f.unit, "%s", c->unit);
    (void)snprintf(f.note, sizeof f.note, "%s", c->note);
    return store_figure_insert(db, &f, e);
}

static int put_all(struct db *db, struct hw_id *ids, struct err *e)
{
    int rc = store_size_leave_all(db, e);
    for (size_t i = 0; i < catalogue_sizes_count && !rc; i++)
        rc = put_size(db, &catalogue_sizes[i], &ids[i], e);
    if (!rc)
        rc = store_figure_delete_published(db, e);
    for (size_t i = 0; i < catalogue_figures_count && !rc; i++)
        rc = put_figure(db, &catalogue_figures[i], &ids[catalogue_figures[i].size], (unsigned)i + 1,
                        e);
    return rc ? rc : store_meta_set(db, META_CATALOGUE, catalogue_version, e);
}

int catalogue_load(struct db *db, bool *changed, struct err *e)
{
    bool loaded = false;
    int rc = is_loaded(db, &loaded, e);
    if (!rc && !loaded) {
        struct hw_id *ids = calloc(catalogue_sizes_count, sizeof *ids);
        rc = ids ? put_all(db, ids, e) : err_set(e, HW_ENOMEM, "out of memory");
        free(ids);
    }
    *changed = !rc && !loaded;
    return rc ? err_wrap(e, "load the catalogue of instance sizes") : 0;
}
