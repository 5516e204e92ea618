#include "agent/dataplane/engine_state.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void engine_routing_free(void *p)
{
    struct routing *r = p;
    if (r == NULL)
        return;
    fib_free(r->fib);
    free(r);
}

static int slot_of(void *ctx, const struct hw_id *link)
{
    return engine_find_link(ctx, link);
}

int engine_publish(struct engine *en, const void *image, size_t len, struct err *e)
{
    struct routing *r = calloc(1, sizeof *r);
    if (r == NULL)
        return err_set(e, HW_ENOMEM, "routing tables: out of memory");
    r->overlay4 = dp_addr_to_ip(&en->node.overlay4);
    r->overlay6 = dp_addr_to_ip(&en->node.overlay6);
    r->flow_seed = en->node.flow_seed;
    r->tunnel_seed = en->node.tunnel_seed;
    int rc = image != NULL ? fib_new(image, len, slot_of, en, &r->fib, e) : 0;
    if (rc != 0) {
        free(r);
        return rc;
    }
    rc = snapshot_replace(&en->routing, r, engine_routing_free, ENGINE_WORKER_TIMEOUT_NS, e);
    if (rc != 0)
        engine_end_stuck(e);
    return 0;
}

int engine_node_set(struct engine *en, const struct dp_node_set *m, struct err *e)
{
    en->node = *m;
    return engine_publish(en, en->fib_image, en->fib_len, e);
}

static int read_all(int fd, uint8_t *to, size_t len, struct err *e)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = pread(fd, to + at, len - at, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, errno, "read the FIB file");
        if (n == 0)
            return err_set(e, HW_EINVAL, "the FIB file ends after %zu bytes", at);
        at += (size_t)n;
    }
    return 0;
}

/* The file is copied before it is looked at: whoever passed it may still write to it. */
static int load_fib(const struct dp_fib_commit *m, int fd, uint8_t **out, struct err *e)
{
    uint8_t *image = malloc(m->size);
    if (image == NULL)
        return err_set(e, HW_ENOMEM, "FIB of %llu bytes: out of memory",
                       (unsigned long long)m->size);
    int rc = read_all(fd, image, m->size, e);
    if (rc == 0)
        rc = dp_fib_validate(image, m->size, e);
    struct dp_fib_header h;
    memcpy(&h, image, sizeof h);
    if (rc == 0 && h.generation != m->generation)
        rc = err_set(e, HW_EINVAL, "FIB file is of another generation than the message says");
    if (rc != 0) {
        free(image);
        return rc;
    }
    *out = image;
    return 0;
}

int engine_fib_commit(struct engine *en, const struct dp_fib_commit *m, int fd, struct err *e)
{
    uint8_t *image = NULL;
    int rc = load_fib(m, fd, &image, e);
    close(fd);
    if (rc != 0)
        return rc;
    rc = engine_publish(en, image, m->size, e);
    if (rc != 0) {
        free(image);
        return rc;
    }
    free(en->fib_image);
    en->fib_image = image;
    en->fib_len = m->size;
    return 0;
}
