#include "agent/control/app.h"
#include "agent/control/agent_clock.h"
#include "agent/control/cloud/cloud.h"
#include "agent/control/commands.h"
#include "agent/control/config_apply.h"
#include "agent/control/config_cycle.h"
#include "agent/control/config_store.h"
#include "agent/control/controller_link.h"
#include "agent/control/ctl.h"
#include "agent/control/denials_store.h"
#include "agent/control/dp_client.h"
#include "agent/control/enrol.h"
#include "agent/control/firewall/table.h"
#include "agent/control/identity.h"
#include "agent/control/kernel_apply.h"
#include "agent/control/keying/keying.h"
#include "agent/control/state_dir.h"
#include "agent/control/status.h"
#include "agent/control/sysctl.h"
#include "agent/control/telemetry.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "common/log.h"
#include "common/sdnotify.h"
#include "common/secret.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ENROL_RETRY_NS    (5 * NS_PER_S)
#define ENROL_REFUSED_NS  (60 * NS_PER_S)
#define TICK_NS           NS_PER_S
#define STILL_WORKER_NS   (5 * NS_PER_S)
#define PURGE_PATIENCE_NS (5 * NS_PER_S)

/* ---- keying: identity and denials ---- */

static void tell_identity(struct app *a)
{
    struct err e = {0};
    char *key;
    size_t len;
    int rc = identity_key_pem(a->identity, &key, &len, &e);
    if (rc == 0) {
        rc = keying_set_identity(a->keying, identity_certificate_pem(a->identity), key,
                                 identity_ca_pem(a->identity), &e);
        secret_wipe(key, len);
        free(key);
    }
    if (rc < 0)
        log_error("keying: identity: %s", e.text);
}

/* When this gateway itself is denied, all of its peers are: no SA outlives that. */
static int deny_everybody(struct app *a, struct err *e)
{
    const struct stored_config *c = config_apply_current(a->apply);
    if (!c || c->config.n_peers == 0)
        return 0;
    struct hw_id *ids = calloc(c->config.n_peers, sizeof *ids);
    if (!ids)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < c->config.n_peers; i++)
        ids[i] = c->config.peers[i].gateway_id;
    int rc = keying_set_denials(a->keying, ids, c->config.n_peers, NULL, 0, e);
    free(ids);
    return rc;
}

static int tell_denied(struct app *a, const struct denials *d, struct err *e)
{
    const char **serials = calloc(d->n_serials + 1, sizeof *serials);
    if (!serials)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < d->n_serials; i++)
        serials[i] = d->serials[i];
    int rc = keying_set_denials(a->keying, d->gateways, d->n_gateways, serials, d->n_serials, e);
    free(serials);
    return rc < 0 ? rc : keying_set_ended(a->keying, d->permissions, d->n_permissions, e);
}

static void on_denials_changed(void *arg)
{
    struct app *a = arg;
    struct err e = {0};
    int rc = a->link && controller_link_revoked(a->link)
                 ? deny_everybody(a, &e)
                 : tell_denied(a, denials_store_get(a->denials), &e);
    if (rc < 0)
        log_error("keying: denials: %s", e.text);
}

static void on_identity_changed(void *arg)
{
    tell_identity(arg);
}

/* ---- report ---- */

static void on_fill_report(void *arg, struct report *r)
{
    struct app *a = arg;
    telemetry_close(a->telemetry, clock_mono_ns());
    status_fill(a->status, r);
    config_apply_firewall_report(a->apply, &r->firewall);
}

static void on_report_done(void *arg, struct report *r)
{
    (void)arg;
    status_done(r);
}

static void on_report_accepted(void *arg)
{
    config_apply_firewall_told(((struct app *)arg)->apply);
}

static void on_commands(void *arg, const struct command *list, size_t n)
{
    commands_take(((struct app *)arg)->commands, list, n);
}

static char *on_next_post(void *arg, struct hw_id *id, size_t *len, uint64_t *wait_ns)
{
    return commands_next(((struct app *)arg)->commands, id, len, wait_ns);
}

static void on_posted(void *arg, const struct hw_id *id, int status)
{
    commands_posted(((struct app *)arg)->commands, id, status);
}

static const struct controller_link_handler link_handler = {
    .denials_changed = on_denials_changed,
    .identity_changed = on_identity_changed,
    .fill_report = on_fill_report,
    .report_done = on_report_done,
    .report_accepted = on_report_accepted,
    .commands = on_commands,
    .next_post = on_next_post,
    .posted = on_posted,
};

/* ---- dataplane ---- */

static void on_dp_connected(void *arg, const struct dp_hello *hello, bool new_boot)
{
    struct app *a = arg;
    struct err e = {0};
    char boot[ID_TEXT_MAX];
    log_info("dataplane connected boot=%s workers=%u provider=%s new=%d",
             id_text(&hello->boot, boot), hello->workers, dp_provider_name(hello->provider),
             new_boot);
    if (telemetry_attach(a->telemetry, dp_client_counters_fd(a->dp), &e) < 0)
        log_warn("telemetry: %s", e.text);
    config_apply_dp_connected(a->apply, new_boot);
}

static void on_dp_lost(void *arg, const char *why)
{
    struct app *a = arg;
    log_warn("dataplane away: %s", why);
    (void)telemetry_attach(a->telemetry, -1, NULL);
    config_apply_dp_lost(a->apply);
    keying_dataplane_lost(a->keying);
    if (a->link)
        controller_link_report_soon(a->link);
}

static void on_dp_event(void *arg, const struct dp_event *event)
{
    struct app *a = arg;
    keying_event(a->keying, event);
    if (event->type == DP_TUNNEL_STATE) {
        char link[ID_TEXT_MAX];
        log_debug("link=%s tun=%u state=%s reason=%s", id_text(&event->tunnel.link, link),
                  event->tunnel.tunnel, dp_tunnel_state_name(event->tunnel.state),
                  dp_tunnel_reason_name(event->tunnel.reason));
        if (a->link)
            controller_link_report_soon(a->link);
    }
}

static const struct dp_client_handler dp_handler = {
    .connected = on_dp_connected,
    .lost = on_dp_lost,
    .event = on_dp_event,
};

/* ---- keying's own events ---- */

static void on_link_changed(void *arg, const struct hw_id *link)
{
    struct app *a = arg;
    struct keying_link_status k;
    if (keying_status(a->keying, link, &k) == 0) {
        config_apply_peer_mtu(a->apply, link, k.peer_mtu);
        config_apply_link_connection(a->apply, link, k.state == KEYING_CONNECTED ? k.epoch : 0);
    }
    if (a->link)
        controller_link_report_soon(a->link);
}

static void on_peer_mtu(void *arg, const struct hw_id *link, const struct prefix *prefix,
                        uint32_t mtu)
{
    config_apply_onward(((struct app *)arg)->apply, link, prefix, mtu);
}

static int64_t trusted_now(void *arg)
{
    return agent_clock_now(((struct app *)arg)->clock);
}

static bool clock_trusted(void *arg)
{
    return agent_clock_from_controller(((struct app *)arg)->clock);
}

static const struct keying_handler keying_handler = {
    .link_changed = on_link_changed,
    .peer_mtu = on_peer_mtu,
    .trusted_now = trusted_now,
    .clock_trusted = clock_trusted,
};

/* ---- enrolled: from here on there is a controller, and configs ---- */

/* Who is denied may have become a peer only now. */
static void on_config_changed(void *arg)
{
    struct app *a = arg;
    if (controller_link_revoked(a->link))
        on_denials_changed(a);
    controller_link_report_soon(a->link);
}

static const struct gateway_config *config_in_force(void *arg)
{
    const struct stored_config *c = config_apply_current(((struct app *)arg)->apply);
    return c ? &c->config : NULL;
}

static void on_post(void *arg)
{
    struct app *a = arg;
    if (a->link)
        controller_link_post_soon(a->link);
}

static int start_commands(struct app *a, struct err *e)
{
    struct commands_params p = {.loop = a->loop,
                                .state_dir = a->settings->state_dir,
                                .settings = a->settings,
                                .config = config_in_force,
                                .now = trusted_now,
                                .post = on_post,
                                .arg = a};
    return commands_new(&p, &a->commands, e);
}

static int start_enrolled(struct app *a, struct err *e)
{
    const struct x509_st *ca = identity_ca(a->identity);
    const char *dir = a->settings->state_dir;
    int rc = denials_store_open(dir, ca, &a->denials, e);
    if (rc == 0)
        rc = config_store_open(dir, identity_gateway_id(a->identity), ca, &a->store, e);
    if (rc == 0)
        rc = start_commands(a, e);
    if (rc < 0)
        return rc;
    struct config_cycle_params c = {.loop = a->loop,
                                    .store = a->store,
                                    .apply = a->apply,
                                    .boot = a->boot,
                                    .confirm_timeout_ns = a->settings->confirm_timeout_s * NS_PER_S,
                                    .changed = on_config_changed,
                                    .arg = a};
    struct controller_link_params p = {.loop = a->loop,
                                       .settings = a->settings,
                                       .clock = a->clock,
                                       .identity = a->identity,
                                       .store = a->store,
                                       .denials = a->denials,
                                       .boot = a->boot,
                                       .handler = &link_handler,
                                       .arg = a};
    if ((rc = config_cycle_new(&c, &a->cycle, e)) < 0)
        return rc;
    p.cycle = a->cycle;
    if ((rc = controller_link_new(&p, &a->link, e)) < 0)
        return rc;
    tell_identity(a);
    on_denials_changed(a);
    config_cycle_start(a->cycle);
    return 0;
}

static void go_on_enrolled(struct app *a)
{
    struct err e = {0};
    if (start_enrolled(a, &e) < 0) {
        log_error("start of an enrolled gateway: %s", e.text);
        evloop_stop(a->loop);
    }
}

static void on_enrolled(void *arg, int status, const struct err *why)
{
    struct app *a = arg;
    enrol_free(a->enrol);
    a->enrol = NULL;
    if (status == 0) {
        a->enrol_error[0] = '\0';
        cloud_forget_token(a->cloud);
        go_on_enrolled(a);
        return;
    }
    log_error("not enrolled: %s", why->text);
    (void)snprintf(a->enrol_error, sizeof a->enrol_error, "%s", why->text);
    /* A refused token does not get better; another one may be put in its place. */
    if (status == HW_EFORBIDDEN)
        cloud_forget_token(a->cloud);
    evloop_timer_arm(a->enrol_timer, status == HW_EFORBIDDEN ? ENROL_REFUSED_NS : ENROL_RETRY_NS);
}

/* `hawser-agent enrol` may have done it beside us. */
static bool enrolled_on_disk(struct app *a)
{
    struct identity *now;
    if (identity_load(a->settings->state_dir, &now, NULL) < 0)
        return false;
    if (!identity_enrolled(now)) {
        identity_free(now);
        return false;
    }
    identity_free(a->identity);
    a->identity = now;
    return true;
}

static bool has_token_file(const struct app *a)
{
    return access(a->settings->token_file, F_OK) == 0;
}

/* A token file comes first: somebody put it there. */
static int enrol(struct app *a, struct err *e)
{
    struct enrol_params p = {.loop = a->loop,
                             .settings = a->settings,
                             .token_file = a->settings->token_file,
                             .token = has_token_file(a) ? NULL : cloud_token(a->cloud),
                             .facts = cloud_facts(a->cloud),
                             .identity = a->identity,
                             .clock = a->clock,
                             .done = on_enrolled,
                             .arg = a};
    return enrol_start(&p, &a->enrol, e);
}

static void try_enrol(struct app *a)
{
    struct err e = {0};
    int rc = enrol(a, &e);
    if (rc == 0)
        return;
    cloud_explain(a->cloud, &e);
    if (strcmp(a->enrol_error, e.text) != 0)
        log_warn("not enrolled: %s", e.text);
    (void)snprintf(a->enrol_error, sizeof a->enrol_error, "%s", e.text);
    cloud_forget_token(a->cloud);
    evloop_timer_arm(a->enrol_timer, ENROL_RETRY_NS);
}

/* A machine without a token looks for one again and again: it may be given one while it runs. */
static void on_enrol_timer(void *arg)
{
    struct app *a = arg;
    if (enrolled_on_disk(a)) {
        on_enrolled(a, 0, NULL);
        return;
    }
    if (!has_token_file(a) && !cloud_token(a->cloud))
        a->awaits_cloud = cloud_read(a->cloud, true);
    if (!a->awaits_cloud)
        try_enrol(a);
}

/* ---- cloud ---- */

/* Whether it answered or not: what waited for it goes on. */
static void on_cloud_read(void *arg, bool changed)
{
    struct app *a = arg;
    if (changed && a->link)
        controller_link_report_soon(a->link);
    if (!a->awaits_cloud)
        return;
    a->awaits_cloud = false;
    if (identity_enrolled(a->identity))
        go_on_enrolled(a);
    else
        try_enrol(a);
}

/* At the start: with what is known, or once the cloud has been asked. */
static int begin(struct app *a, struct err *e)
{
    bool known = cloud_settled(a->cloud);
    bool enrolled = identity_enrolled(a->identity);
    bool asked = cloud_read(a->cloud, !enrolled && !has_token_file(a));
    if (enrolled)
        enrol_remove_used_token(a->settings->token_file, a->identity);
    a->awaits_cloud = asked && !(enrolled && known);
    if (a->awaits_cloud)
        return 0;
    if (enrolled)
        return start_enrolled(a, e);
    evloop_timer_arm(a->enrol_timer, 0);
    return 0;
}

/* ---- life ---- */

/* A worker that does not turn holds its tunnels and its share of flows: the dataplane ends and
 * comes back by its supervisor, and is keyed anew. */
static void end_still_dataplane(struct app *a, uint64_t now)
{
    int worker = telemetry_still_worker(a->telemetry, now, STILL_WORKER_NS);
    if (worker < 0 || !dp_client_connected(a->dp))
        return;
    log_error("worker stands still, the dataplane is asked to end worker=%d", worker);
    (void)telemetry_attach(a->telemetry, -1, NULL);
    (void)dp_client_request(a->dp, DP_QUIESCE, NULL, 0, -1, NULL, NULL, NULL);
}

static void on_tick(void *arg)
{
    struct app *a = arg;
    end_still_dataplane(a, evloop_now(a->loop));
    telemetry_sample(a->telemetry, clock_mono_ns());
    if (sdnotify_watchdog_ns())
        sdnotify_send("WATCHDOG=1");
    evloop_timer_arm(a->tick, TICK_NS);
}

static void on_signal(void *arg, int signo)
{
    struct app *a = arg;
    log_info("signal %d, ending; tunnels stay up", signo);
    evloop_stop(a->loop);
}

static int make_modules(struct app *a, struct err *e)
{
    const struct agent_settings *s = a->settings;
    struct keying_settings k = {.soft_seconds = (uint32_t)s->rekey_s,
                                .hard_seconds = (uint32_t)s->rekey_hard_s};
    int rc;
    if ((rc = agent_clock_new(s->state_dir, &a->clock, e)) < 0 ||
        (rc = identity_load(s->state_dir, &a->identity, e)) < 0 ||
        (rc = cloud_new(a->loop, s, on_cloud_read, a, &a->cloud, e)) < 0 ||
        (rc = dp_client_new(a->loop, s->dataplane_socket, s->dataplane_uid, &dp_handler, a, &a->dp,
                            e)) < 0 ||
        (rc = keying_new(a->loop, a->dp, &k, &keying_handler, a, &a->keying, e)) < 0)
        return rc;
    struct config_apply_params p = {
        .loop = a->loop, .settings = s, .boot = a->boot, .dp = a->dp, .keying = a->keying};
    if ((rc = config_apply_new(&p, &a->apply, e)) < 0 ||
        (rc = telemetry_new(&a->telemetry, e)) < 0 || (rc = status_new(a, &a->status, e)) < 0 ||
        (rc = ctl_new(a->loop, s->run_dir, a->status, &a->ctl, e)) < 0)
        return rc;
    a->tick = evloop_timer_add(a->loop, on_tick, a);
    a->enrol_timer = evloop_timer_add(a->loop, on_enrol_timer, a);
    return a->tick && a->enrol_timer ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

static void free_modules(struct app *a)
{
    if (a->apply)
        config_apply_stop(a->apply);
    enrol_free(a->enrol);
    cloud_free(a->cloud);
    ctl_free(a->ctl);
    controller_link_free(a->link);
    commands_free(a->commands);
    a->link = NULL; /* what ends below may still speak to the callbacks above */
    keying_free(a->keying);
    dp_client_free(a->dp);
    config_apply_free(a->apply);
    status_free(a->status);
    telemetry_free(a->telemetry);
    config_cycle_free(a->cycle);
    config_store_free(a->store);
    denials_store_free(a->denials);
    identity_free(a->identity);
    agent_clock_free(a->clock);
}

static int start(struct app *a, struct err *e)
{
    int rc;
    if ((rc = state_dir_make(a->settings->state_dir, e)) < 0 ||
        (rc = state_dir_lock(a->settings->state_dir, &a->state_fd, e)) < 0 ||
        (rc = fsutil_mkdir(a->settings->run_dir, 0755, e)) < 0 ||
        (rc = agent_settings_boot_id(a->settings, &a->boot, e)) < 0 ||
        (rc = evloop_new(&a->loop, e)) < 0 ||
        (rc = evloop_signal(a->loop, SIGTERM, on_signal, a, e)) < 0 ||
        (rc = evloop_signal(a->loop, SIGINT, on_signal, a, e)) < 0 || (rc = make_modules(a, e)) < 0)
        return rc;
    rc = begin(a, e);
    evloop_timer_arm(a->tick, TICK_NS);
    return rc;
}

/* The gateway's key and, for moments, SA keys are in memory: no core file, no other process of this
 * user looks at them. (The leak checker of sanitizer builds has to.) */
static void guard_memory(void)
{
#ifndef HAWSER_SANITIZED
    (void)prctl(PR_SET_DUMPABLE, 0);
#endif
}

int app_run(const struct agent_settings *settings, struct err *e)
{
    struct app a = {.settings = settings, .state_fd = -1};
    const char *missing = status_missing_capabilities();
    guard_memory();
    log_info("hawser-agent %s", HAWSER_VERSION);
    if (missing[0])
        log_warn("capabilities are missing: %s", missing);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN); /* settings are read at a start, which disturbs nothing */
    sdnotify_init();
    int rc = start(&a, e);
    if (rc == 0) {
        sdnotify_send("READY=1");
        rc = evloop_run(a.loop, e);
        sdnotify_send("STOPPING=1");
    }
    free_modules(&a);
    evloop_free(a.loop);
    if (a.state_fd >= 0)
        (void)close(a.state_fd);
    return rc;
}

/* ---- purge ---- */

struct purge {
    struct evloop *loop;
    struct dp_client *dp;
};

static void on_purge_connected(void *arg, const struct dp_hello *hello, bool new_boot)
{
    struct purge *p = arg;
    (void)hello;
    (void)new_boot;
    (void)dp_client_request(p->dp, DP_QUIESCE, NULL, 0, -1, NULL, NULL, NULL);
}

static void on_purge_lost(void *arg, const char *why)
{
    (void)why;
    evloop_stop(((struct purge *)arg)->loop);
}

static void on_purge_event(void *arg, const struct dp_event *event)
{
    (void)arg;
    (void)event;
}

static void on_purge_timeout(void *arg)
{
    log_warn("the dataplane does not end; its SAs stay until it does");
    evloop_stop(arg);
}

/* Ends the dataplane, and with it every SA; its supervisor starts an empty one. */
static int end_dataplane(const struct agent_settings *s, struct err *e)
{
    static const struct dp_client_handler handler = {on_purge_connected, on_purge_lost,
                                                     on_purge_event};
    struct purge p = {0};
    int rc = evloop_new(&p.loop, e);
    if (rc < 0)
        return rc;
    struct ev_timer *patience = evloop_timer_add(p.loop, on_purge_timeout, p.loop);
    rc = patience
             ? dp_client_new(p.loop, s->dataplane_socket, s->dataplane_uid, &handler, &p, &p.dp, e)
             : err_set(e, HW_ENOMEM, "out of memory");
    if (rc == 0) {
        evloop_timer_arm(patience, PURGE_PATIENCE_NS);
        rc = evloop_run(p.loop, e);
        dp_client_free(p.dp);
    }
    evloop_free(p.loop);
    return rc;
}

/* Everything that the agent has made, under its lock: a running one would make it again at once. */
static int purge_all(const struct agent_settings *settings, struct err *e)
{
    struct nl *n;
    int rc = end_dataplane(settings, e);
    if (rc < 0)
        return rc;
    /* Forwarding goes first: nothing may leave in plain once the table is empty. */
    int first = sysctl_restore(settings->state_dir, e);
    rc = nl_open(&n, first < 0 ? NULL : e);
    if (rc < 0)
        return rc;
    rc = kernel_apply_purge(n, first < 0 ? NULL : e);
    nl_close(n);
    first = first < 0 ? first : rc;
    rc = firewall_table_remove(first < 0 ? NULL : e);
    return first < 0 ? first : rc;
}

int app_purge(const struct agent_settings *settings, struct err *e)
{
    int lock = -1;
    int rc = state_dir_lock(settings->state_dir, &lock, e);
    if (rc < 0)
        return rc;
    rc = purge_all(settings, e);
    (void)close(lock);
    return rc;
}
