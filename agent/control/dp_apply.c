#include "agent/control/dp_apply.h"
#include "agent/control/udp_sockets.h"
#include "common/cleanup.h"
#include "common/log.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct dp_apply {
    struct dp_client *dp;
    dp_apply_fn done;
    void *arg;
    unsigned outstanding;
    bool collecting; /* between begin and end */
    int status;      /* first failure of the round */
    struct err why;
};

int dp_apply_new(struct dp_client *dp, dp_apply_fn done, void *arg, struct dp_apply **out,
                 struct err *e)
{
    struct dp_apply *d = calloc(1, sizeof *d);
    if (!d)
        return err_set(e, HW_ENOMEM, "out of memory");
    d->dp = dp;
    d->done = done;
    d->arg = arg;
    *out = d;
    return 0;
}

void dp_apply_free(struct dp_apply *d)
{
    free(d);
}

void dp_apply_begin(struct dp_apply *d)
{
    d->outstanding = 0;
    d->status = 0;
    d->why = (struct err){0};
    d->collecting = true;
}

static void keep_first(struct dp_apply *d, int status)
{
    if (d->status == 0)
        d->status = status;
}

static void on_ack(void *arg, int status, const char *text)
{
    struct dp_apply *d = arg;
    if (status < 0 && d->status == 0)
        d->status = err_set(&d->why, status, "dataplane: %s", text);
    d->outstanding--;
    if (d->outstanding == 0 && !d->collecting)
        d->done(d->arg, d->status, &d->why);
}

static void send_request(struct dp_apply *d, enum dp_type type, const void *body, uint32_t len,
                         int fd)
{
    struct err why = {0};
    int rc = dp_client_request(d->dp, type, body, len, fd, on_ack, d, &why);
    if (rc == 0) {
        d->outstanding++;
        return;
    }
    if (d->status == 0)
        d->why = why;
    keep_first(d, rc);
}

void dp_apply_tun(struct dp_apply *d, const struct tun_queues *q, unsigned mtu)
{
    for (unsigned i = 0; i < q->n; i++) {
        struct dp_attach_tun a = {.queue = (uint16_t)i, .queues = (uint16_t)q->n, .mtu = mtu};
        send_request(d, DP_ATTACH_TUN, &a, sizeof a, q->fd[i]);
    }
}

static void attach_udp(struct dp_apply *d, size_t slot, const struct gateway_state *want)
{
    unsigned index = (unsigned)(slot % HW_PORTS_PER_GATEWAY);
    unsigned family = slot < HW_PORTS_PER_GATEWAY ? 4 : 6;
    uint16_t port = family == 4 ? want->udp.v4[index] : want->udp.v6[index];
    struct err why = {0};
    auto_close int fd = udp_socket_open(family, (uint16_t)(port - index), index, &why);
    if (fd < 0) {
        if (d->status == 0)
            d->why = why;
        keep_first(d, fd);
        return;
    }
    struct dp_attach_udp a = {
        .family = (uint8_t)family, .port_index = (uint8_t)index, .port = port};
    send_request(d, DP_ATTACH_UDP, &a, sizeof a, fd);
}

/* The table travels as a file: it may be far larger than a message. */
static void commit_fib(struct dp_apply *d, const struct gateway_state *want)
{
    auto_close int fd = memfd_create("hawser-fib", MFD_CLOEXEC);
    size_t at = 0;
    while (fd >= 0 && at < want->fib_len) {
        ssize_t n = write(fd, want->fib + at, want->fib_len - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    if (fd < 0 || at < want->fib_len) {
        int rc = err_errno(d->status == 0 ? &d->why : NULL, errno, "file of the forwarding table");
        keep_first(d, rc);
        return;
    }
    struct dp_fib_commit c = {.generation = want->fib_generation, .size = want->fib_len};
    send_request(d, DP_FIB_COMMIT, &c, sizeof c, fd);
}

void dp_apply_step(struct dp_apply *d, const struct plan_step *step,
                   const struct gateway_state *found, const struct gateway_state *want)
{
    struct dp_link_remove gone;
    switch (step->kind) {
    case PLAN_UDP_ATTACH:
        attach_udp(d, step->index, want);
        break;
    case PLAN_NODE_SET:
        send_request(d, DP_NODE_SET, &want->node, sizeof want->node, -1);
        break;
    case PLAN_LINK_SET:
        send_request(d, DP_LINK_SET, &want->links[step->index], sizeof *want->links, -1);
        break;
    case PLAN_FIB_COMMIT:
        commit_fib(d, want);
        break;
    case PLAN_LINK_REMOVE:
        gone.link = found->links[step->index].link;
        send_request(d, DP_LINK_REMOVE, &gone, sizeof gone, -1);
        break;
    default:
        keep_first(d, err_set(&d->why, HW_EINVAL, "%s is no step of the dataplane",
                              plan_step_name(step->kind)));
        break;
    }
}

bool dp_apply_end(struct dp_apply *d, int *status, struct err *why)
{
    d->collecting = false;
    if (d->outstanding > 0)
        return false;
    *status = d->status;
    *why = d->why;
    return true;
}

int dp_apply_found(const struct dp_dump *dump, struct gateway_state *s, struct err *e)
{
    struct dp_link_set *links = calloc(dump->n_links + 1, sizeof *links);
    if (!links)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < dump->n_links; i++)
        links[i] = dump->links[i].set;
    qsort(links, dump->n_links, sizeof *links, state_link_cmp);
    free(s->links);
    s->links = links;
    s->n_links = dump->n_links;
    /* The bytes of a table are known as long as it is the one that we committed. */
    if (s->fib_generation != dump->fib.generation) {
        free(s->fib);
        s->fib = NULL;
        s->fib_len = 0;
        s->fib_generation = dump->fib.generation;
    }
    s->has_node = dump->has_node;
    s->node = dump->node;
    s->udp = (struct udp_port_map){0};
    for (size_t i = 0; i < dump->n_udps; i++) {
        const struct dp_attach_udp *u = &dump->udps[i];
        if (u->port_index < HW_PORTS_PER_GATEWAY)
            *(u->family == 6 ? &s->udp.v6[u->port_index] : &s->udp.v4[u->port_index]) = u->port;
    }
    return 0;
}
