#include "agent/control/enrol.h"
#include "agent/control/interfaces.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "common/http_client.h"
#include "common/log.h"
#include "common/secret.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CA_MAX     65536
#define REPLY_MAX  (256u << 10)
#define TIMEOUT_NS (20 * NS_PER_S)

/* A token is a secret: only its owner may be able to read the file. */
static int read_token(const char *path, struct enrol_token *out, struct err *e)
{
    struct stat st;
    if (stat(path, &st) < 0) {
        int missing = errno == ENOENT;
        int rc = err_errno(e, errno, "token file %s", path);
        return missing ? HW_ENOTFOUND : rc;
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

static void client_params(struct http_client_params *p, enum http_trust trust)
{
    *p = (struct http_client_params){
        .trust = trust, .mark = HW_MARK, .user_agent = "hawser-agent/" HAWSER_VERSION};
}

static int ask(const struct http_client_params *p, const char *method, const char *base,
               const char *path, const void *body, size_t len, size_t max,
               struct http_response *out, struct err *e)
{
    char url[ENROL_URL_MAX + 64];
    (void)snprintf(url, sizeof url, "%s%s", base, path);
    struct http_client *client;
    int rc = http_client_new(p, &client, e);
    if (rc < 0)
        return rc;
    struct http_request r = {.method = method,
                             .url = url,
                             .body = body,
                             .body_len = len,
                             .timeout_ns = TIMEOUT_NS,
                             .response_max = max};
    rc = http_client_run(client, &r, out, e);
    http_client_free(client);
    if (rc == 0 && out->outcome != HTTP_ANSWERED) {
        rc = err_set(e, HW_EAGAIN, "%s: %s", url, out->error);
        http_response_done(out);
    }
    return rc;
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

/* The CA comes from anybody; what makes it ours is the pin that the token carries. */
static int fetch_ca(const struct enrol_token *t, const char *url, struct x509_st **out,
                    struct err *e)
{
    struct http_client_params p;
    struct http_response r;
    client_params(&p, HTTP_TRUST_NOBODY);
    int rc = ask(&p, "GET", url, "/agent/v1/ca", NULL, 0, CA_MAX, &r, e);
    if (rc < 0)
        return rc;
    struct x509_st *ca = NULL;
    if (r.status != 200)
        rc = err_set(e, HW_EAGAIN, "%s: status %d instead of the gateway CA", url, r.status);
    else
        rc = x509_cert_parse(r.body, r.body_len, &ca, e);
    http_response_done(&r);
    if (rc == 0 && !pin_fits(t, ca)) {
        x509_cert_free(ca);
        return err_set(e, HW_EAUTH, "%s: its gateway CA is not the one that the token names", url);
    }
    if (rc == 0)
        *out = ca;
    return rc;
}

static char *make_request(const struct agent_settings *s, const struct enrol_token *t,
                          const struct identity *id, size_t *len, struct err *e)
{
    struct enrol_request *q = calloc(1, sizeof *q);
    struct nl *n = NULL;
    char *json = NULL, *csr = NULL;
    if (!q) {
        (void)err_set(e, HW_ENOMEM, "out of memory");
        return NULL;
    }
    if (!s->name) {
        (void)err_set(e, HW_EINVAL, "the host name makes no gateway name: set `name`");
        goto out;
    }
    if (x509_csr_make(identity_key(id), &csr, e) < 0 ||
        agent_settings_boot_id(s, &q->boot_id, e) < 0 || nl_open(&n, e) < 0 ||
        interfaces_read(n, s, &q->node, e) < 0)
        goto out;
    q->token_id = t->id;
    memcpy(q->secret, t->secret, sizeof q->secret);
    (void)snprintf(q->csr_pem, sizeof q->csr_pem, "%s", csr);
    (void)snprintf(q->name, sizeof q->name, "%s", s->name);
    (void)snprintf(q->agent_version, sizeof q->agent_version, "%s", HAWSER_VERSION);
    (void)snprintf(q->provider, sizeof q->provider, "%s", s->provider ? s->provider : "");
    (void)snprintf(q->region, sizeof q->region, "%s", s->region ? s->region : "");
    (void)snprintf(q->size, sizeof q->size, "%s", s->size ? s->size : "");
    json = enrol_request_encode(q, len);
    if (!json)
        (void)err_set(e, HW_ENOMEM, "out of memory");
out:
    nl_close(n);
    free(csr);
    secret_wipe(q, sizeof *q);
    free(q);
    return json;
}

/* A refusal of the token is final, everything else may pass. */
static int judge_status(const struct http_response *r, const char *url, struct err *e)
{
    if (r->status == 200)
        return 0;
    int code = r->status >= 400 && r->status < 500 && r->status != 408 && r->status != 429
                   ? HW_EFORBIDDEN
                   : HW_EAGAIN;
    return err_set(e, code, "%s: enrolment refused with status %d: %.200s", url, r->status,
                   r->body);
}

static int enrol_at(const struct agent_settings *s, const struct enrol_token *t, const char *url,
                    struct identity *id, struct agent_clock *clock, struct err *e)
{
    struct x509_st *ca;
    int rc = fetch_ca(t, url, &ca, e);
    if (rc < 0)
        return rc;
    struct http_client_params p;
    client_params(&p, HTTP_TRUST_CONTROLLER);
    p.ca = ca;
    p.now = (int64_t(*)(void *))agent_clock_now;
    p.now_arg = clock;
    struct enrol_reply reply = {0};
    struct http_response r;
    size_t len;
    char *body = make_request(s, t, id, &len, e);
    if (!body) {
        x509_cert_free(ca);
        return e ? e->code : HW_EFAIL;
    }
    rc = ask(&p, "POST", url, "/agent/v1/enrol", body, len, REPLY_MAX, &r, e);
    secret_wipe(body, len);
    free(body);
    x509_cert_free(ca);
    if (rc < 0)
        return rc;
    rc = judge_status(&r, url, e);
    const char *time = http_response_header(&r, "Hawser-Time");
    if (rc == 0 && time)
        agent_clock_set(clock, strtoll(time, NULL, 10));
    if (rc == 0)
        rc = enrol_reply_decode(r.body, r.body_len, &reply, e);
    http_response_done(&r);
    if (rc < 0)
        return rc;
    rc = identity_install(id, &reply, agent_clock_now(clock), e);
    enrol_reply_done(&reply);
    return rc;
}

int enrol_run(const struct agent_settings *s, const char *token_file, struct identity *id,
              struct agent_clock *clock, struct err *e)
{
    struct enrol_token t;
    int rc = read_token(token_file, &t, e);
    if (rc < 0)
        return rc;
    rc = HW_EFORBIDDEN;
    for (size_t i = 0; i < t.urls.n; i++) {
        rc = enrol_at(s, &t, t.urls.url[i], id, clock, e);
        if (rc == 0 || rc == HW_EFORBIDDEN)
            break;
        log_warn("enrolment not yet done: %s", e ? e->text : "");
    }
    secret_wipe(&t, sizeof t);
    if (rc < 0)
        return rc;
    char text[ID_TEXT_MAX];
    log_info("enrolled gw=%s", id_text(identity_gateway_id(id), text));
    struct err why = {0};
    if (fsutil_remove(token_file, &why) < 0)
        log_warn("the token file is not removed, remove it by hand: %s", why.text);
    return 0;
}
