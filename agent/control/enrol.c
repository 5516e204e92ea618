#include "agent/control/enrol.h"
#include "agent/control/cloud/cloud.h"
#include "agent/control/interfaces.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "common/http_client.h"
#include "common/json.h"
#include "common/log.h"
#include "common/secret.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CA_MAX     65536
#define REPLY_MAX  (256u << 10)
#define TIMEOUT_NS (20 * NS_PER_S)

struct enrol {
    struct evloop *loop;
    const struct agent_settings *settings;
    const struct cloud_facts *facts;
    char *token_file; /* NULL: the token came from the cloud */
    struct identity *identity;
    struct agent_clock *clock;
    enrol_done_fn done;
    void *arg;
    struct enrol_token token;
    size_t url;         /* asked at present */
    struct x509_st *ca; /* of that URL, once its pin fits */
    struct http_client *client;
    struct ev_timer *step; /* the next request: no client is made or freed inside a callback */
    struct err why;        /* of the newest failure */
    int status;
};

/* A token is a secret: only its owner may be able to read the file. */
static int read_token(const char *path, struct enrol_token *out, struct err *e)
{
    struct stat st;
    if (stat(path, &st) < 0) {
        if (errno == ENOENT)
            return err_set(e, HW_ENOTFOUND, "token file %s: %s", path, strerror(errno));
        return err_errno(e, errno, "token file %s", path);
    }
    if (st.st_mode & 077)
        return err_set(e, HW_EFORBIDDEN, "token file %s: mode %03o, it must be 0600", path,
                       st.st_mode & 0777u);
    char *text;
    size_t len;
    int rc = fsutil_read(path, ENROL_TOKEN_MAX, &text, &len, e);
    if (rc < 0)
        return rc;
    rc = enrol_token_decode(text, len, out, e);
    secret_wipe(text, len);
    free(text);
    if (rc < 0)
        (void)err_wrap(e, "token file %s", path);
    return rc < 0 ? HW_EFORBIDDEN : 0;
}

static int decode_token(const char *text, struct enrol_token *out, struct err *e)
{
    if (enrol_token_decode(text, strlen(text), out, e) < 0) {
        (void)err_wrap(e, "token in the user data");
        return HW_EFORBIDDEN;
    }
    return 0;
}

static void fill_where(struct enrol_request *q, const struct agent_settings *s,
                       const struct cloud_facts *facts)
{
    struct node_cloud where;
    cloud_where(s, facts, &where);
    memcpy(q->provider, where.provider, sizeof q->provider);
    memcpy(q->region, where.region, sizeof q->region);
    memcpy(q->size, where.size, sizeof q->size);
}

static char *make_request(const struct enrol *n, size_t *len, struct err *e)
{
    const struct agent_settings *s = n->settings;
    const struct enrol_token *t = &n->token;
    struct enrol_request *q = calloc(1, sizeof *q);
    struct nl *nl = NULL;
    char *json = NULL, *csr = NULL;
    if (!q) {
        (void)err_set(e, HW_ENOMEM, "out of memory");
        return NULL;
    }
    if (!s->name) {
        (void)err_set(e, HW_EINVAL, "the host name makes no gateway name: set `name`");
        goto out;
    }
    if (x509_csr_make(identity_key(n->identity), &csr, e) < 0 ||
        agent_settings_boot_id(s, &q->boot_id, e) < 0 || nl_open(&nl, e) < 0 ||
        interfaces_read(nl, s, n->facts, &q->node, e) < 0)
        goto out;
    q->token_id = t->id;
    memcpy(q->secret, t->secret, sizeof q->secret);
    (void)snprintf(q->csr_pem, sizeof q->csr_pem, "%s", csr);
    (void)snprintf(q->name, sizeof q->name, "%s", s->name);
    (void)snprintf(q->agent_version, sizeof q->agent_version, "%s", HAWSER_VERSION);
    fill_where(q, s, n->facts);
    json = enrol_request_encode(q, len);
    if (!json)
        (void)err_set(e, HW_ENOMEM, "out of memory");
out:
    nl_close(nl);
    free(csr);
    secret_wipe(q, sizeof *q);
    free(q);
    return json;
}

static const char *url_of(const struct enrol *n)
{
    return n->token.urls.url[n->url];
}

static bool pin_fits(const struct enrol_token *t, const struct x509_st *ca)
{
    uint8_t pin[X509_PIN_LEN];
    if (x509_cert_pin(ca, pin, NULL) < 0)
        return false;
    for (size_t i = 0; i < t->n_pins; i++)
        if (secret_equal(pin, t->pins[i], sizeof pin))
            return true;
    return false;
}

static void on_step(void *arg);

/* Over, whatever came of it; tells from the loop, not from inside a request's callback. */
static void conclude(struct enrol *n, int status)
{
    n->status = status;
    n->url = n->token.urls.n;
    evloop_timer_arm(n->step, 0);
}

/* This URL is of no use; the next one is asked. */
static void next_url(struct enrol *n, int status)
{
    log_warn("enrolment: %s", n->why.text);
    x509_cert_free(n->ca);
    n->ca = NULL;
    n->status = status;
    n->url++;
    evloop_timer_arm(n->step, 0);
}

static int take_ca(struct enrol *n, const struct http_response *r, struct err *e)
{
    struct x509_st *ca;
    if (r->outcome != HTTP_ANSWERED)
        return err_set(e, HW_EAGAIN, "%s: %s", url_of(n), r->error);
    if (r->status != 200)
        return err_set(e, HW_EAGAIN, "%s: status %d instead of the gateway CA", url_of(n),
                       r->status);
    int rc = x509_cert_parse(r->body, r->body_len, &ca, e);
    if (rc < 0)
        return rc;
    if (!pin_fits(&n->token, ca)) {
        x509_cert_free(ca);
        return err_set(e, HW_EAUTH, "%s: its gateway CA is not the one that the token names",
                       url_of(n));
    }
    n->ca = ca;
    return 0;
}

/* The CA comes from anybody; what makes it ours is the pin that the token carries. */
static void on_ca(void *arg, const struct http_response *r)
{
    struct enrol *n = arg;
    int rc = take_ca(n, r, &n->why);
    if (rc < 0)
        next_url(n, rc);
    else
        evloop_timer_arm(n->step, 0);
}

/* What a problem's detail says (RFC 9457), for people; else the body as it is. */
static void detail_of(const struct http_response *r, char out[HW_TEXT_MAX + 1])
{
    struct json_object *doc;
    const char *detail = r->body;
    bool problem = json_parse(r->body, r->body_len, REPLY_MAX, &doc, NULL) == 0;
    struct json_at top = json_root(problem ? doc : NULL);
    if (problem && json_has(&top, "detail"))
        (void)json_get_str(&top, "detail", REPLY_MAX, &detail, NULL);
    (void)snprintf(out, HW_TEXT_MAX + 1, "%s", detail);
    if (problem)
        json_free(doc);
}

/* A refusal of the token is final, everything else may pass. */
static int judge_status(const struct http_response *r, const char *url, struct err *e)
{
    if (r->status == 200)
        return 0;
    int code = r->status >= 400 && r->status < 500 && r->status != 408 && r->status != 429
                   ? HW_EFORBIDDEN
                   : HW_EAGAIN;
    char detail[HW_TEXT_MAX + 1];
    detail_of(r, detail);
    return err_set(e, code, "%s: enrolment refused with status %d: %.200s", url, r->status, detail);
}

static int take_reply(struct enrol *n, const struct http_response *r, struct err *e)
{
    if (r->outcome != HTTP_ANSWERED)
        return err_set(e, HW_EAGAIN, "%s: %s", url_of(n), r->error);
    int rc = judge_status(r, url_of(n), e);
    if (rc < 0)
        return rc;
    const char *time = http_response_header(r, "Hawser-Time");
    if (time)
        agent_clock_set(n->clock, strtoll(time, NULL, 10));
    struct enrol_reply reply = {0};
    rc = enrol_reply_decode(r->body, r->body_len, &reply, e);
    if (rc < 0)
        return rc;
    rc = identity_install(n->identity, &reply, &n->token.id, agent_clock_now(n->clock), e);
    enrol_reply_done(&reply);
    return rc;
}

/* The certificate is on disk. Where the directory is not ours to change, at least the secret goes.
 */
static void remove_token(const char *path)
{
    struct err e = {0};
    if (fsutil_remove(path, &e) == 0)
        return;
    if (truncate(path, 0) < 0)
        log_warn("the token file is not removed, remove it by hand: %s", e.text);
}

static void on_reply(void *arg, const struct http_response *r)
{
    struct enrol *n = arg;
    int rc = take_reply(n, r, &n->why);
    if (rc < 0 && rc != HW_EFORBIDDEN) {
        next_url(n, rc);
        return;
    }
    if (rc == 0) {
        char text[ID_TEXT_MAX];
        log_info("enrolled gw=%s", id_text(identity_gateway_id(n->identity), text));
        if (n->token_file)
            remove_token(n->token_file);
    }
    conclude(n, rc);
}

static int ask(struct enrol *n, const char *method, const char *path, const void *body, size_t len,
               size_t max, http_done_fn done, struct err *e)
{
    struct http_client_params p = {.trust = n->ca ? HTTP_TRUST_CONTROLLER : HTTP_TRUST_NOBODY,
                                   .loop = n->loop,
                                   .ca = n->ca,
                                   .now = n->ca ? (int64_t(*)(void *))agent_clock_now : NULL,
                                   .now_arg = n->clock,
                                   .mark = HW_MARK,
                                   .user_agent = "hawser-agent/" HAWSER_VERSION};
    http_client_free(n->client);
    n->client = NULL;
    int rc = http_client_new(&p, &n->client, e);
    if (rc < 0)
        return rc;
    char url[ENROL_URL_MAX + 64];
    (void)snprintf(url, sizeof url, "%s%s", url_of(n), path);
    struct http_request r = {.method = method,
                             .url = url,
                             .body = body,
                             .body_len = len,
                             .timeout_ns = TIMEOUT_NS,
                             .response_max = max};
    return http_client_start(n->client, &r, done, n, e) ? 0 : HW_EFAIL;
}

static void on_step(void *arg)
{
    struct enrol *n = arg;
    if (n->url >= n->token.urls.n) {
        n->done(n->arg, n->status, &n->why);
        return;
    }
    int rc;
    if (!n->ca) {
        rc = ask(n, "GET", "/agent/v1/ca", NULL, 0, CA_MAX, on_ca, &n->why);
    } else {
        size_t len;
        char *body = make_request(n, &len, &n->why);
        if (!body) {
            conclude(n, HW_EFAIL);
            return;
        }
        rc = ask(n, "POST", "/agent/v1/enrol", body, len, REPLY_MAX, on_reply, &n->why);
        secret_wipe(body, len);
        free(body);
    }
    if (rc < 0)
        next_url(n, rc);
}

int enrol_start(const struct enrol_params *p, struct enrol **out, struct err *e)
{
    struct enrol *n = calloc(1, sizeof *n);
    if (!n)
        return err_set(e, HW_ENOMEM, "out of memory");
    n->loop = p->loop;
    n->settings = p->settings;
    n->facts = p->facts;
    n->identity = p->identity;
    n->clock = p->clock;
    n->done = p->done;
    n->arg = p->arg;
    n->step = evloop_timer_add(p->loop, on_step, n);
    if (!p->token)
        n->token_file = strdup(p->token_file);
    int rc = !n->step || (!p->token && !n->token_file) ? err_set(e, HW_ENOMEM, "out of memory")
             : p->token                                ? decode_token(p->token, &n->token, e)
                                                       : read_token(p->token_file, &n->token, e);
    if (rc < 0) {
        enrol_free(n);
        return rc;
    }
    evloop_timer_arm(n->step, 0);
    *out = n;
    return 0;
}

void enrol_free(struct enrol *n)
{
    if (!n)
        return;
    http_client_free(n->client);
    if (n->step)
        evloop_timer_remove(n->step);
    x509_cert_free(n->ca);
    secret_wipe(&n->token, sizeof n->token);
    free(n->token_file);
    free(n);
}

void enrol_remove_used_token(const char *token_file, const struct identity *id)
{
    struct enrol_token t;
    if (read_token(token_file, &t, NULL) < 0)
        return;
    if (id_equal(&t.id, identity_token(id)))
        remove_token(token_file);
    else
        log_warn("there is a token, but this gateway is enrolled; to enrol it anew: "
                 "hawser-agent enrol --token-file %s",
                 token_file);
    secret_wipe(&t, sizeof t);
}
