#include "agent/control/controller_link.h"
#include "agent/control/agent_clock.h"
#include "agent/control/config_cycle.h"
#include "agent/control/config_store.h"
#include "agent/control/denials_store.h"
#include "agent/control/identity.h"
#include "agent/control/settings.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/http_client.h"
#include "common/log.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_TIMEOUT_NS    (70 * NS_PER_S) /* the controller parks a poll for 50 s */
#define REQUEST_TIMEOUT_NS (30 * NS_PER_S)
#define REPORT_TIMEOUT_NS  (10 * NS_PER_S)
#define CONNECT_TIMEOUT_NS (5 * NS_PER_S)
#define BACKOFF_MIN_NS     (1 * NS_PER_S)
#define BACKOFF_MAX_NS     (60 * NS_PER_S)
#define RENEW_CHECK_NS     (600 * NS_PER_S)
#define REPORT_DELAY_NS    (50 * NS_PER_MS)  /* what happens together is told together */
#define REPORT_PAUSE_NS    (1 * NS_PER_S)    /* however much happens */
#define COMMANDS_PAUSE_NS  (200 * NS_PER_MS) /* they stand in every answer until reported */
#define SMALL_BODY_MAX     (256u << 10)
#define DENIALS_BODY_MAX   (16u << 20)

/* One kind of request, at most one of it under way. */
struct lane {
    struct controller_link *l;
    struct http_transfer *transfer;
    struct ev_timer *timer; /* the next attempt */
    uint64_t started_ns;
    size_t url;        /* index that the attempt uses */
    unsigned failures; /* in a row */
};

struct controller_link {
    struct controller_link_params p;
    struct http_client *client;
    unsigned client_generation; /* of the identity that it carries */
    struct ev_timer *renewed;   /* a new client must not be made inside a callback of the old one */
    struct lane poll, report, renew, post;
    struct hw_id posting; /* whose report is under way in `post` */

    bool contact;      /* an authenticated exchange since start */
    bool revoked;      /* by the controller's word */
    bool report_again; /* something changed while a report was under way */

    enum controller_state state;
    size_t url; /* that answered last, or is tried */
    int64_t last_contact;
    char last_error[200];
    char refusal[200]; /* why the last document was not taken; outlives the polls that go well
                          meanwhile */
};

static void start_poll(struct controller_link *l);
static void start_report(struct controller_link *l);

const char *controller_state_name(enum controller_state s)
{
    static const char *const names[] = {"connected", "unreachable", "refused"};
    return names[s];
}

static size_t n_urls(const struct controller_link *l)
{
    return identity_urls(l->p.identity)->n;
}

/* ---- what every answer means ---- */

static void say_error(struct controller_link *l, const char *what, const char *text)
{
    if (snprintf(l->last_error, sizeof l->last_error, "%s: %s", what, text) < 0)
        l->last_error[0] = '\0'; /* a text cut short is still worth showing */
}

/* The controller's word on ourselves; a change is told to keying. Only a request that was granted
 * takes it back: one that is rate-limited or fails says nothing about us. */
static void set_revoked(struct controller_link *l, bool revoked)
{
    if (l->revoked == revoked)
        return;
    l->revoked = revoked;
    if (revoked)
        log_error("this gateway is revoked: its SAs are dropped");
    else
        log_info("this gateway is no longer revoked");
    l->p.handler->denials_changed(l->p.arg);
}

static void take_contact(struct controller_link *l, const struct lane *lane,
                         const struct http_response *r)
{
    const char *time = http_response_header(r, "Hawser-Time");
    if (time)
        agent_clock_set(l->p.clock, strtoll(time, NULL, 10));
    if (!l->contact || l->state != CONTROLLER_CONNECTED)
        log_info("controller reached url=%s", identity_urls(l->p.identity)->url[lane->url]);
    l->contact = true;
    l->last_contact = agent_clock_now(l->p.clock);
    if (lane->url < n_urls(l)) {
        identity_url_good(l->p.identity, identity_urls(l->p.identity)->url[lane->url]);
        l->url = 0; /* the good one now stands first */
    }
    config_cycle_exchange(l->p.cycle, lane->started_ns);
}

/* Common to all lanes: true when the controller itself has answered with `status`. */
static bool answered(struct lane *lane, const char *what, const struct http_response *r)
{
    struct controller_link *l = lane->l;
    lane->transfer = NULL;
    if (r->outcome != HTTP_ANSWERED) {
        if (l->state == CONTROLLER_CONNECTED)
            log_warn("controller not reached: %s: %s", what, r->error);
        l->state = CONTROLLER_UNREACHABLE;
        say_error(l, what, r->error);
        config_cycle_failure(l->p.cycle, lane->started_ns, r->answered, lane->url, n_urls(l));
        return false;
    }
    take_contact(l, lane, r);
    if (r->status == 401 || r->status == 403) {
        char text[160];
        (void)snprintf(text, sizeof text, "status %d: %.120s", r->status, r->body);
        log_warn_limited("controller refuses this gateway: %s: %s", what, text);
        l->state = CONTROLLER_REFUSED;
        say_error(l, what, text);
        if (r->status == 403)
            set_revoked(l, true);
        else
            evloop_timer_arm(l->renew.timer, 0);
        return true;
    }
    bool granted = r->status >= 200 && r->status < 300;
    if (l->revoked && !granted)
        return true;
    l->state = CONTROLLER_CONNECTED;
    l->last_error[0] = '\0';
    set_revoked(l, false);
    return true;
}

/* 1, 2, 4 … 60 s, each by chance half to whole of it. */
static uint64_t backoff(struct lane *lane)
{
    unsigned shift = lane->failures < 6 ? lane->failures : 6;
    uint64_t delay = BACKOFF_MIN_NS << shift;
    delay = delay < BACKOFF_MAX_NS ? delay : BACKOFF_MAX_NS;
    lane->failures++;
    return delay / 2 + (uint64_t)rand_below((uint32_t)(delay / 2 / NS_PER_US) + 1) * NS_PER_US;
}

/* The next address at once, and after the last one a pause. */
static void retry(struct lane *lane)
{
    struct controller_link *l = lane->l;
    if (n_urls(l) > 1 && lane->url + 1 < n_urls(l)) {
        lane->url++;
        evloop_timer_arm(lane->timer, 100 * NS_PER_MS);
        return;
    }
    lane->url = 0;
    evloop_timer_arm(lane->timer, backoff(lane));
}

static void lane_good(struct lane *lane)
{
    lane->failures = 0;
    lane->url = 0;
}

/* ---- requests ---- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t half_confirm_timeout(const struct controller_link *l)
{
    return l->p.settings->confirm_timeout_s * NS_PER_S / 2;
}

static int make_client(struct controller_link *l, struct err *e)
{
    struct http_client_params p = {.trust = HTTP_TRUST_CONTROLLER,
                                   .loop = l->p.loop,
                                   .ca = identity_ca(l->p.identity),
                                   .cert = identity_certificate(l->p.identity),
                                   .key = identity_key(l->p.identity),
                                   .now = (int64_t(*)(void *))agent_clock_now,
                                   .now_arg = l->p.clock,
                                   .mark = HW_MARK,
                                   .user_agent = "hawser-agent/" HAWSER_VERSION};
    l->client_generation = identity_generation(l->p.identity);
    return http_client_new(&p, &l->client, e);
}

struct query {
    const char *method, *path;
    const void *body;
    size_t body_len;
    uint64_t timeout_ns;
    size_t response_max;
};

static void start(struct lane *lane, const struct query *q, http_done_fn done)
{
    struct controller_link *l = lane->l;
    char url[ENROL_URL_MAX + 256];
    lane->url = lane->url < n_urls(l) ? lane->url : 0;
    (void)snprintf(url, sizeof url, "%s%s", identity_urls(l->p.identity)->url[lane->url], q->path);
    struct http_request r = {.method = q->method,
                             .url = url,
                             .body = q->body,
                             .body_len = q->body_len,
                             .timeout_ns = q->timeout_ns,
                             .connect_timeout_ns = CONNECT_TIMEOUT_NS,
                             .response_max = q->response_max};
    /* While a new config waits for its confirmation the question is whether the path is cut: a
     * short patience. */
    if (config_cycle_waiting(l->p.cycle))
        r.connect_timeout_ns = smaller(CONNECT_TIMEOUT_NS, half_confirm_timeout(l));
    struct err e = {0};
    lane->started_ns = clock_mono_ns();
    lane->transfer = http_client_start(l->client, &r, done, lane, &e);
    if (!lane->transfer) {
        log_error("request %s: %s", q->path, e.text);
        evloop_timer_arm(lane->timer, backoff(lane));
    }
}

/* ---- config and denials ---- */

static int receive(const struct http_response *r, struct signed_doc *out, struct err *e)
{
    return signed_doc_receive(
        http_response_header(r, "Hawser-Revision"), http_response_header(r, "Hawser-Signature"),
        http_response_header(r, "Hawser-Signer"), r->body, r->body_len, out, e);
}

/* Something came that must not be used: told, and asked for again after a pause only. */
static void refuse(struct lane *lane, const char *what, const struct err *e)
{
    struct controller_link *l = lane->l;
    (void)snprintf(l->refusal, sizeof l->refusal, "%s not taken: %.150s", what, e->text);
    log_error("%s refused: %s", what, e->text);
    say_error(l, what, e->text);
    evloop_timer_arm(lane->timer, backoff(lane));
    controller_link_report_soon(l);
}

static void on_config(void *arg, const struct http_response *r)
{
    struct lane *lane = arg;
    struct controller_link *l = lane->l;
    struct signed_doc doc = {0};
    struct err e = {0};
    if (!answered(lane, "config", r)) {
        retry(lane);
        return;
    }
    int rc = r->status == 200 ? receive(r, &doc, &e)
                              : err_set(&e, HW_EFAIL, "status %d: %.120s", r->status, r->body);
    if (rc == 0)
        rc = config_store_take(l->p.store, &doc, identity_ca(l->p.identity),
                               agent_clock_now(l->p.clock), &l->p.boot, &e);
    if (rc < 0) {
        refuse(lane, "config", &e);
        return;
    }
    l->refusal[0] = '\0';
    lane_good(lane);
    log_info("config received rev=%" PRIu64, config_store_received(l->p.store));
    config_cycle_received(l->p.cycle);
    start_poll(l);
}

static void fetch_config(struct controller_link *l)
{
    struct query q = {.method = "GET",
                      .path = "/agent/v1/config",
                      .timeout_ns = REQUEST_TIMEOUT_NS,
                      .response_max = HW_CONFIG_BODY_MAX};
    start(&l->poll, &q, on_config);
}

static void on_denials(void *arg, const struct http_response *r)
{
    struct lane *lane = arg;
    struct controller_link *l = lane->l;
    struct signed_doc doc = {0};
    struct err e = {0};
    if (!answered(lane, "denials", r)) {
        retry(lane);
        return;
    }
    int rc = r->status == 200 ? receive(r, &doc, &e)
                              : err_set(&e, HW_EFAIL, "status %d: %.120s", r->status, r->body);
    if (rc == 0)
        rc = denials_store_take(l->p.denials, &doc, identity_ca(l->p.identity),
                                agent_clock_now(l->p.clock), &e);
    if (rc < 0) {
        refuse(lane, "denials", &e);
        return;
    }
    l->refusal[0] = '\0';
    log_info("denials in force number=%" PRIu64, denials_store_number(l->p.denials));
    l->p.handler->denials_changed(l->p.arg);
    controller_link_report_soon(l);
    start_poll(l); /* says at once whether there is a config as well */
}

static void fetch_denials(struct controller_link *l)
{
    struct query q = {.method = "GET",
                      .path = "/agent/v1/denials",
                      .timeout_ns = REQUEST_TIMEOUT_NS,
                      .response_max = DENIALS_BODY_MAX};
    start(&l->poll, &q, on_denials);
}

/* ---- poll ---- */

static void on_poll(void *arg, const struct http_response *r)
{
    struct lane *lane = arg;
    struct controller_link *l = lane->l;
    struct command_poll poll;
    struct err e = {0};
    if (!answered(lane, "poll", r)) {
        retry(lane);
        return;
    }
    if (r->status == 204) {
        lane_good(lane);
        start_poll(l);
        return;
    }
    if (r->status != 200 || command_poll_decode(r->body, r->body_len, &poll, &e) < 0) {
        if (r->status != 200)
            say_error(l, "poll", r->body);
        else
            log_warn_limited("poll: %s", e.text);
        evloop_timer_arm(lane->timer, backoff(lane));
        return;
    }
    l->p.handler->commands(l->p.arg, poll.commands, poll.n_commands);
    /* Denials first: they may concern a peer of the new config. */
    if (poll.denials_revision > denials_store_number(l->p.denials))
        fetch_denials(l);
    else if (poll.config_revision > config_store_received(l->p.store))
        fetch_config(l);
    else if (poll.n_commands) {
        lane_good(lane);
        evloop_timer_arm(lane->timer, COMMANDS_PAUSE_NS);
    } else /* a poll that another one has replaced, or a controller that knows less than we do */
        evloop_timer_arm(lane->timer, backoff(lane));
}

static void start_poll(struct controller_link *l)
{
    char path[160], boot[ID_TEXT_MAX];
    if (l->poll.transfer)
        return;
    (void)snprintf(path, sizeof path, "/agent/v1/poll?seen=%" PRIu64 "&denials=%" PRIu64 "&boot=%s",
                   config_store_received(l->p.store), denials_store_number(l->p.denials),
                   id_text(&l->p.boot, boot));
    struct query q = {.method = "GET",
                      .path = path,
                      .timeout_ns = POLL_TIMEOUT_NS,
                      .response_max = SMALL_BODY_MAX};
    start(&l->poll, &q, on_poll);
}

static void on_poll_timer(void *arg)
{
    start_poll(((struct lane *)arg)->l);
}

/* ---- report ---- */

static void on_report(void *arg, const struct http_response *r)
{
    struct lane *lane = arg;
    struct controller_link *l = lane->l;
    uint64_t pause = l->p.settings->report_interval_s * NS_PER_S;
    if (!answered(lane, "report", r)) {
        lane->url = n_urls(l) > 1 ? (lane->url + 1) % n_urls(l) : 0;
        /* While a config waits to be confirmed, reports are what finds out. */
        if (config_cycle_waiting(l->p.cycle))
            pause = smaller(pause, NS_PER_S);
    } else {
        lane->url = 0;
        if (r->status == 204)
            l->p.handler->report_accepted(l->p.arg);
        else if (r->status < 500 && r->status != 401 && r->status != 403)
            log_warn_limited("report refused: status %d: %.200s", r->status, r->body);
        if (l->poll.failures > 0 && !l->poll.transfer) {
            /* The controller is back: no need to sit out the pause. */
            l->poll.failures = 0;
            evloop_timer_arm(l->poll.timer, 0);
        }
    }
    evloop_timer_arm(lane->timer, pause);
    if (l->report_again)
        controller_link_report_soon(l);
    l->report_again = false;
}

static void start_report(struct controller_link *l)
{
    if (l->report.transfer)
        return;
    struct report *r = calloc(1, sizeof *r);
    if (!r) {
        evloop_timer_arm(l->report.timer, l->p.settings->report_interval_s * NS_PER_S);
        return;
    }
    config_cycle_revisions(l->p.cycle, &r->revisions);
    l->p.handler->fill_report(l->p.arg, r);
    size_t len = 0;
    auto_free char *body = report_encode(r, &len);
    l->p.handler->report_done(l->p.arg, r);
    free(r);
    if (!body) {
        evloop_timer_arm(l->report.timer, l->p.settings->report_interval_s * NS_PER_S);
        return;
    }
    struct query q = {.method = "POST",
                      .path = "/agent/v1/report",
                      .body = body,
                      .body_len = len,
                      .timeout_ns = REPORT_TIMEOUT_NS,
                      .response_max = SMALL_BODY_MAX};
    if (config_cycle_waiting(l->p.cycle))
        q.timeout_ns = smaller(q.timeout_ns, half_confirm_timeout(l));
    start(&l->report, &q, on_report);
}

static void on_report_timer(void *arg)
{
    start_report(((struct lane *)arg)->l);
}

void controller_link_report_soon(struct controller_link *l)
{
    uint64_t now = clock_mono_ns(), next = l->report.started_ns + REPORT_PAUSE_NS;
    if (l->report.transfer) {
        l->report_again = true;
        return;
    }
    if (l->report.started_ns == 0 || next < now + REPORT_DELAY_NS)
        next = now + REPORT_DELAY_NS;
    evloop_timer_arm(l->report.timer, next - now);
}

/* ---- what became of commands ---- */

static void on_posted(void *arg, const struct http_response *r)
{
    struct lane *lane = arg;
    struct controller_link *l = lane->l;
    int status = answered(lane, "operation", r) ? r->status : 0;
    lane->url = status || n_urls(l) < 2 ? 0 : (lane->url + 1) % n_urls(l);
    l->p.handler->posted(l->p.arg, &l->posting, status);
    evloop_timer_arm(lane->timer, 0);
}

static void on_post_timer(void *arg)
{
    struct lane *lane = arg;
    struct controller_link *l = lane->l;
    char path[96], id[ID_TEXT_MAX];
    size_t len = 0;
    uint64_t wait = 0;
    if (lane->transfer)
        return;
    auto_free char *body = l->p.handler->next_post(l->p.arg, &l->posting, &len, &wait);
    if (!body) {
        if (wait)
            evloop_timer_arm(lane->timer, wait);
        return;
    }
    (void)snprintf(path, sizeof path, "/agent/v1/operations/%s", id_text(&l->posting, id));
    struct query q = {.method = "POST",
                      .path = path,
                      .body = body,
                      .body_len = len,
                      .timeout_ns = REPORT_TIMEOUT_NS,
                      .response_max = SMALL_BODY_MAX};
    start(lane, &q, on_posted);
    if (!lane->transfer)
        l->p.handler->posted(l->p.arg, &l->posting, 0);
}

void controller_link_post_soon(struct controller_link *l)
{
    if (!l->post.transfer)
        evloop_timer_arm(l->post.timer, 0);
}

/* ---- renewal ---- */

static void on_renew(void *arg, const struct http_response *r)
{
    struct lane *lane = arg;
    struct controller_link *l = lane->l;
    char *certificate = NULL, *ca = NULL;
    struct err e = {0};
    if (!answered(lane, "renew", r)) {
        retry(lane);
        return;
    }
    int rc = r->status == 200
                 ? enrol_renew_reply_decode(r->body, r->body_len, &certificate, &ca, &e)
                 : err_set(&e, HW_EFAIL, "status %d: %.120s", r->status, r->body);
    if (rc == 0)
        rc = identity_renew(l->p.identity, certificate, agent_clock_now(l->p.clock), &e);
    free(certificate);
    free(ca);
    if (rc < 0) {
        log_error("certificate not renewed: %s", e.text);
        say_error(l, "renew", e.text);
        evloop_timer_arm(lane->timer, BACKOFF_MAX_NS);
        return;
    }
    lane_good(lane);
    log_info("certificate renewed serial=%s", identity_info(l->p.identity)->serial);
    l->p.handler->identity_changed(l->p.arg);
    evloop_timer_arm(l->renewed, 0);
    evloop_timer_arm(lane->timer, RENEW_CHECK_NS);
}

static void on_renew_timer(void *arg)
{
    struct lane *lane = arg;
    struct controller_link *l = lane->l;
    int64_t now = agent_clock_now(l->p.clock);
    if (lane->transfer)
        return;
    if (!identity_renewal_due(l->p.identity, now) ||
        now >= identity_info(l->p.identity)->not_after + IDENTITY_RENEW_GRACE_S) {
        evloop_timer_arm(lane->timer, RENEW_CHECK_NS);
        return;
    }
    auto_free char *csr = NULL;
    struct err e = {0};
    size_t len = 0;
    auto_free char *body = NULL;
    if (x509_csr_make(identity_key(l->p.identity), &csr, &e) == 0)
        body = enrol_renew_request_encode(csr, &len);
    if (!body) {
        log_error("certificate request: %s", e.text);
        evloop_timer_arm(lane->timer, RENEW_CHECK_NS);
        return;
    }
    struct query q = {.method = "POST",
                      .path = "/agent/v1/renew",
                      .body = body,
                      .body_len = len,
                      .timeout_ns = REQUEST_TIMEOUT_NS,
                      .response_max = SMALL_BODY_MAX};
    start(lane, &q, on_renew);
}

/* Every connection is made anew, with the certificate that now holds. */
static void on_renewed(void *arg)
{
    struct controller_link *l = arg;
    struct err e = {0};
    struct http_client *old = l->client;
    if (make_client(l, &e) < 0) {
        log_error("new client for the controller: %s", e.text);
        l->client = old;
        evloop_timer_arm(l->renewed, BACKOFF_MAX_NS);
        return;
    }
    http_client_free(old);
    if (l->post.transfer)
        l->p.handler->posted(l->p.arg, &l->posting, 0);
    l->poll.transfer = l->report.transfer = l->renew.transfer = l->post.transfer = NULL;
    evloop_timer_arm(l->post.timer, 0);
    start_poll(l);
    start_report(l);
    evloop_timer_arm(l->renew.timer, RENEW_CHECK_NS);
}

/* ---- life ---- */

void controller_link_status(const struct controller_link *l, struct controller_status *out)
{
    const struct enrol_urls *urls = identity_urls(l->p.identity);
    *out =
        (struct controller_status){.state = l->state,
                                   .url = urls->n ? urls->url[l->url < urls->n ? l->url : 0] : "",
                                   .last_contact = l->last_contact,
                                   .last_error = l->last_error};
}

const char *controller_link_refusal(const struct controller_link *l)
{
    return l->refusal;
}

bool controller_link_revoked(const struct controller_link *l)
{
    return l->revoked ||
           denials_has(denials_store_get(l->p.denials), identity_gateway_id(l->p.identity),
                       identity_info(l->p.identity)->serial);
}

static int lane_init(struct controller_link *l, struct lane *lane, ev_timer_fn fn)
{
    lane->l = l;
    lane->timer = evloop_timer_add(l->p.loop, fn, lane);
    return lane->timer ? 0 : -1;
}

int controller_link_new(const struct controller_link_params *p, struct controller_link **out,
                        struct err *e)
{
    struct controller_link *l = calloc(1, sizeof *l);
    if (!l)
        return err_set(e, HW_ENOMEM, "out of memory");
    l->p = *p;
    l->state = CONTROLLER_UNREACHABLE;
    l->renewed = evloop_timer_add(p->loop, on_renewed, l);
    int rc = 0;
    if (!l->renewed || lane_init(l, &l->poll, on_poll_timer) < 0 ||
        lane_init(l, &l->report, on_report_timer) < 0 ||
        lane_init(l, &l->renew, on_renew_timer) < 0 || lane_init(l, &l->post, on_post_timer) < 0)
        rc = err_set(e, HW_ENOMEM, "out of memory");
    if (rc == 0)
        rc = make_client(l, e);
    if (rc < 0) {
        controller_link_free(l);
        return rc;
    }
    evloop_timer_arm(l->poll.timer, 0);
    evloop_timer_arm(l->report.timer, NS_PER_S);
    evloop_timer_arm(l->renew.timer, 0);
    evloop_timer_arm(l->post.timer, 0);
    *out = l;
    return 0;
}

static void timer_remove(struct ev_timer *t)
{
    if (t)
        evloop_timer_remove(t);
}

void controller_link_free(struct controller_link *l)
{
    if (!l)
        return;
    http_client_free(l->client);
    timer_remove(l->renewed);
    timer_remove(l->poll.timer);
    timer_remove(l->report.timer);
    timer_remove(l->renew.timer);
    timer_remove(l->post.timer);
    free(l);
}
