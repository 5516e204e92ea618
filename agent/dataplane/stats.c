#include "agent/dataplane/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(DROP_COUNT <= DP_STATS_DROPS, "dp_stats has no room for every drop reason");

static void fill_header(struct dp_stats_header *h, const struct hw_id *boot, unsigned workers)
{
    *h = (struct dp_stats_header){
        .magic = DP_STATS_MAGIC,
        .version = DP_STATS_VERSION,
        .boot = *boot,
        .workers = workers,
        .worker_offset = 128,
        .worker_stride = sizeof(struct dp_stats_worker),
        .tunnels = HW_TUNNELS_MAX,
        .tunnel_stride = sizeof(struct dp_stats_tunnel),
    };
    h->tunnel_offset = h->worker_offset + h->workers * h->worker_stride;
}

/* The size is sealed, and after our own mapping is made nobody can map or write it anew for
 * writing. */
static int seal(struct stats *s, struct err *e)
{
    if (fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) != 0)
        return err_errno(e, errno, "seal the counters");
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", s->fd);
    s->agent_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->agent_fd < 0)
        return err_errno(e, errno, "open the counters for reading");
    return 0;
}

int stats_open(struct stats *s, const struct hw_id *boot, unsigned workers, struct err *e)
{
    struct dp_stats_header h;
    fill_header(&h, boot, workers);
    *s = (struct stats){.fd = -1, .agent_fd = -1};
    s->size = (size_t)h.tunnel_offset + (size_t)h.tunnels * h.tunnel_stride;
    s->fd = memfd_create("hawser-counters", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (s->fd < 0)
        return err_errno(e, errno, "memfd for the counters");
    if (ftruncate(s->fd, (off_t)s->size) != 0) {
        err_errno(e, errno, "size of the counters");
        goto fail;
    }
    void *mem = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (mem == MAP_FAILED) {
        err_errno(e, errno, "map the counters");
        goto fail;
    }
    s->header = mem;
    s->workers = (struct dp_stats_worker *)((char *)mem + h.worker_offset);
    s->tunnels = (struct dp_stats_tunnel *)((char *)mem + h.tunnel_offset);
    *s->header = h;
    if (seal(s, e) == 0)
        return 0;
fail:
    stats_close(s);
    return HW_EFAIL;
}

void stats_close(struct stats *s)
{
    if (s->header != NULL)
        munmap(s->header, s->size);
    if (s->fd >= 0)
        close(s->fd);
    if (s->agent_fd >= 0)
        close(s->agent_fd);
    *s = (struct stats){.fd = -1, .agent_fd = -1};
}

struct dp_stats_tunnel *stats_tunnel_slot(const struct stats *s)
{
    for (uint32_t i = 0; i < HW_TUNNELS_MAX; i++) {
        if (stats_get32(&s->tunnels[i].used) == 0)
            return &s->tunnels[i];
    }
    return NULL;
}
