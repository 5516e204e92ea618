/* hawser-dataplane: allocates, starts its workers, listens, gives up its rights, and only then
 * accepts the agent. */
#include "agent/dataplane/dp_server.h"
#include "agent/dataplane/engine.h"
#include "agent/dataplane/options.h"
#include "agent/dataplane/sandbox.h"
#include "common/evloop.h"
#include "common/log.h"
#include "common/sdnotify.h"
#include "common/unixsock.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define EXIT_USAGE 2

struct process {
    struct options o;
    struct evloop *loop;
    struct engine *engine;
    struct dp_server *server;
    int listen_fd;
    uint32_t features;
};

static void on_stop(void *arg, int signo)
{
    struct process *p = arg;
    log_info("signal %d, ending", signo);
    evloop_stop(p->loop);
}

/* Signals are blocked before any thread starts, so that the loop alone gets them. */
static int make_loop(struct process *p, struct err *e)
{
    if (evloop_new(&p->loop, e) != 0 || evloop_signal(p->loop, SIGTERM, on_stop, p, e) != 0 ||
        evloop_signal(p->loop, SIGINT, on_stop, p, e) != 0)
        return HW_EFAIL;
    return 0;
}

static int start(struct process *p, struct err *e)
{
    if (make_loop(p, e) != 0 || engine_new(&p->o.engine, &p->engine, e) != 0)
        return HW_EFAIL;
    p->listen_fd = unixsock_listen(p->o.socket, 0660, p->o.socket_gid, e);
    if (p->listen_fd < 0)
        return HW_EFAIL;
    sdnotify_init();
    if (p->o.sandbox && sandbox_drop(&p->features, e) != 0)
        return err_wrap(e, "sandbox");
    if (engine_start(p->engine, e) != 0)
        return HW_EFAIL;
    if (p->o.sandbox && sandbox_seal(&p->features, e) != 0)
        return err_wrap(e, "sandbox");
    struct dp_server_options so = {
        .listen_fd = p->listen_fd, .agent_uid = p->o.agent_uid, .features = p->features};
    return dp_server_new(p->loop, p->engine, &so, &p->server, e);
}

static int serve(struct process *p)
{
    struct err e = {0};
    if (start(p, &e) != 0) {
        log_error("%s", e.text);
        return 1;
    }
    struct dp_hello h;
    engine_hello(p->engine, p->features, &h);
    char boot[ID_TEXT_MAX];
    log_info("ready boot=%s workers=%u provider=%s features=0x%x socket=%s", id_text(&h.boot, boot),
             h.workers, dp_provider_name(h.provider), h.features, p->o.socket);
    sdnotify_send("READY=1");
    if (evloop_run(p->loop, &e) != 0) {
        log_error("%s", e.text);
        return 1;
    }
    sdnotify_send("STOPPING=1");
    return 0;
}

int main(int argc, char **argv)
{
    struct process p = {.listen_fd = -1};
    struct err e = {0};
    if (options_parse(&p.o, argc, argv, &e) != 0) {
        fprintf(stderr, "hawser-dataplane: %s\n", e.text);
        return EXIT_USAGE;
    }
    if (p.o.help || p.o.version) {
        fputs(p.o.help ? options_help() : "hawser-dataplane " HAWSER_VERSION "\n", stdout);
        return 0;
    }
    log_init("dataplane", p.o.log_level);
    /* A log reader that goes away must not take traffic with it. */
    (void)signal(SIGPIPE, SIG_IGN);
    int rc = serve(&p);
    dp_server_free(p.server);
    engine_free(p.engine);
    evloop_free(p.loop);
    if (p.listen_fd >= 0)
        close(p.listen_fd);
    return rc;
}
