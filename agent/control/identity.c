#include "agent/control/identity.h"
#include "agent/control/settings.h"
#include "common/cleanup.h"
#include "common/fsutil.h"
#include "common/json.h"
#include "common/log.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MAX 65536

struct identity {
    char dir[PATH_MAX];
    struct evp_pkey_st *key;
    bool enrolled;
    struct hw_id gateway, token;
    struct x509_st *cert, *ca;
    char *cert_pem, *ca_pem;
    struct x509_info info;
    struct enrol_urls urls;
    unsigned generation;
};

/* What identity.json, identity.pem and gateway-ca.pem say, before it becomes the identity in use.
 */
struct candidate {
    struct hw_id gateway, token;
    struct x509_st *cert, *ca;
    char *cert_pem, *ca_pem;
    struct x509_info info;
    struct enrol_urls urls;
};

static void candidate_done(struct candidate *c)
{
    x509_cert_free(c->cert);
    x509_cert_free(c->ca);
    free(c->cert_pem);
    free(c->ca_pem);
    *c = (struct candidate){0};
}

static int path_of(const struct identity *id, const char *name, char out[PATH_MAX], struct err *e)
{
    return agent_path(id->dir, name, out, PATH_MAX, e);
}

static int load_key(struct identity *id, struct err *e)
{
    char path[PATH_MAX];
    int rc = path_of(id, "identity.key", path, e);
    if (rc < 0)
        return rc;
    rc = x509_key_load(path, &id->key, e);
    if (rc != HW_ENOTFOUND)
        return rc;
    if ((rc = x509_key_new(&id->key, e)) < 0)
        return rc;
    return x509_key_save(path, id->key, e);
}

static int decode_record(const char *text, size_t len, struct candidate *c, struct err *e)
{
    static const char *const members[] = {"gateway_id", "token_id", "urls", NULL};
    struct json_object *doc;
    int rc = json_parse(text, len, RECORD_MAX, &doc, e);
    if (rc < 0)
        return rc;
    struct json_at top = json_root(doc), list;
    size_t n = 0;
    rc = json_members(&top, members, e);
    if (rc == 0)
        rc = json_get_id(&top, "gateway_id", &c->gateway, e);
    if (rc == 0 && json_has(&top, "token_id"))
        rc = json_get_id(&top, "token_id", &c->token, e);
    if (rc == 0)
        rc = json_get_array(&top, "urls", HW_URLS_MAX, &list, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct json_at at = json_element(&list, i);
        rc = json_as_text(&at, c->urls.url[i], sizeof c->urls.url[i], e);
        c->urls.n = i + 1;
    }
    json_free(doc);
    return rc;
}

static int write_record(const struct identity *id, const struct hw_id *gateway,
                        const struct hw_id *token, const struct enrol_urls *urls, struct err *e)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_id(&w, "gateway_id", gateway);
    if (!id_is_zero(token))
        json_put_id(&w, "token_id", token);
    json_open_array(&w, "urls");
    for (size_t i = 0; i < urls->n; i++)
        json_put_str(&w, NULL, urls->url[i]);
    json_close(&w);
    size_t len;
    auto_free char *text = json_finish(&w, &len);
    if (!text)
        return err_set(e, HW_ENOMEM, "out of memory");
    char path[PATH_MAX];
    int rc = path_of(id, "identity.json", path, e);
    return rc < 0 ? rc : fsutil_write(path, text, len, 0600, e);
}

/* Certificate and CA from their PEM texts; they belong together, to our key and to the gateway. The
 * dates are judged at their use, not here: an ended certificate can still renew. */
static int judge(const struct identity *id, struct candidate *c, struct err *e)
{
    int rc;
    char uri[X509_URI_MAX], text[ID_TEXT_MAX];
    if ((rc = x509_cert_parse(c->cert_pem, strlen(c->cert_pem), &c->cert, e)) < 0 ||
        (rc = x509_cert_parse(c->ca_pem, strlen(c->ca_pem), &c->ca, e)) < 0 ||
        (rc = x509_cert_info(c->cert, &c->info, e)) < 0)
        return rc;
    if (!x509_cert_has_key(c->cert, id->key))
        return err_set(e, HW_EAUTH, "the certificate is for another key");
    (void)snprintf(uri, sizeof uri, X509_URI_GATEWAY "%s", id_text(&c->gateway, text));
    int64_t in_its_time = c->info.not_before + (c->info.not_after - c->info.not_before) / 2;
    return x509_cert_verify(c->cert, c->ca, in_its_time, X509_USE_CLIENT, uri, e);
}

static void adopt(struct identity *id, struct candidate *c)
{
    x509_cert_free(id->cert);
    x509_cert_free(id->ca);
    free(id->cert_pem);
    free(id->ca_pem);
    id->gateway = c->gateway;
    id->token = c->token;
    id->cert = c->cert;
    id->ca = c->ca;
    id->cert_pem = c->cert_pem;
    id->ca_pem = c->ca_pem;
    id->info = c->info;
    id->urls = c->urls;
    id->enrolled = true;
    id->generation++;
    *c = (struct candidate){0};
}

static int read_text(const struct identity *id, const char *name, char **out, size_t *len,
                     struct err *e)
{
    char path[PATH_MAX];
    int rc = path_of(id, name, path, e);
    return rc < 0 ? rc : fsutil_read(path, RECORD_MAX, out, len, e);
}

/* 0, HW_ENOTFOUND when never enrolled, or what is wrong with the files. */
static int load_enrolment(struct identity *id, struct err *e)
{
    struct candidate c = {0};
    auto_free char *record = NULL;
    size_t record_len, len;
    int rc = read_text(id, "identity.json", &record, &record_len, e);
    if (rc < 0)
        return rc;
    if ((rc = decode_record(record, record_len, &c, e)) < 0 ||
        (rc = read_text(id, "identity.pem", &c.cert_pem, &len, e)) < 0 ||
        (rc = read_text(id, "gateway-ca.pem", &c.ca_pem, &len, e)) < 0 ||
        (rc = judge(id, &c, e)) < 0) {
        candidate_done(&c);
        /* identity.json is there, so a missing file is damage, not "never enrolled". */
        return rc == HW_ENOTFOUND ? HW_EFAIL : rc;
    }
    adopt(id, &c);
    return 0;
}

int identity_load(const char *state_dir, struct identity **out, struct err *e)
{
    struct identity *id = calloc(1, sizeof *id);
    if (!id)
        return err_set(e, HW_ENOMEM, "out of memory");
    if (strlen(state_dir) >= sizeof id->dir) {
        free(id);
        return err_set(e, HW_ETOOBIG, "state_dir: too long");
    }
    memcpy(id->dir, state_dir, strlen(state_dir) + 1);
    int rc = load_key(id, e);
    if (rc < 0) {
        (void)err_wrap(e, "identity");
        identity_free(id);
        return rc;
    }
    struct err why = {0};
    rc = load_enrolment(id, &why);
    if (rc < 0 && rc != HW_ENOTFOUND)
        log_error("identity on disk is not usable, enrol again: %s", why.text);
    *out = id;
    return 0;
}

void identity_free(struct identity *id)
{
    if (!id)
        return;
    x509_key_free(id->key);
    x509_cert_free(id->cert);
    x509_cert_free(id->ca);
    free(id->cert_pem);
    free(id->ca_pem);
    free(id);
}

bool identity_enrolled(const struct identity *id)
{
    return id->enrolled;
}

const struct hw_id *identity_gateway_id(const struct identity *id)
{
    return &id->gateway;
}

const struct hw_id *identity_token(const struct identity *id)
{
    return &id->token;
}

const struct evp_pkey_st *identity_key(const struct identity *id)
{
    return id->key;
}

const struct x509_st *identity_certificate(const struct identity *id)
{
    return id->cert;
}

const struct x509_st *identity_ca(const struct identity *id)
{
    return id->ca;
}

int identity_key_pem(const struct identity *id, char **pem, size_t *len, struct err *e)
{
    return x509_key_pem(id->key, pem, len, e);
}

const char *identity_certificate_pem(const struct identity *id)
{
    return id->cert_pem;
}

const char *identity_ca_pem(const struct identity *id)
{
    return id->ca_pem;
}

const struct x509_info *identity_info(const struct identity *id)
{
    return &id->info;
}

unsigned identity_generation(const struct identity *id)
{
    return id->generation;
}

const struct enrol_urls *identity_urls(const struct identity *id)
{
    return &id->urls;
}

void identity_url_good(struct identity *id, const char *url)
{
    size_t at = 0;
    while (at < id->urls.n && strcmp(id->urls.url[at], url) != 0)
        at++;
    if (at == 0 || at == id->urls.n)
        return;
    char good[ENROL_URL_MAX];
    memcpy(good, id->urls.url[at], sizeof good);
    memmove(id->urls.url[1], id->urls.url[0], at * sizeof id->urls.url[0]);
    memcpy(id->urls.url[0], good, sizeof good);
    struct err e = {0};
    if (write_record(id, &id->gateway, &id->token, &id->urls, &e) < 0)
        log_warn_limited("controller address is not stored: %s", e.text);
}

bool identity_renewal_due(const struct identity *id, int64_t now_s)
{
    return id->enrolled && now_s >= id->info.not_before + IDENTITY_RENEW_AFTER_S;
}

static int write_text(const struct identity *id, const char *name, const char *text, struct err *e)
{
    char path[PATH_MAX];
    int rc = path_of(id, name, path, e);
    return rc < 0 ? rc : fsutil_write(path, text, strlen(text), 0600, e);
}

/* What another gateway was told, or another CA has signed, is of no use and in the way: revisions
 * and numbers begin anew. */
static int remove_former(const struct identity *id, const struct candidate *c, struct err *e)
{
    static const char *const names[] = {"config-confirmed.doc", "config-candidate.doc",
                                        "config-state.json", "denials.doc"};
    char path[PATH_MAX];
    if (id->enrolled && id_equal(&id->gateway, &c->gateway) && strcmp(id->ca_pem, c->ca_pem) == 0)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int rc = path_of(id, names[i], path, e);
        if (rc < 0 || (rc = fsutil_remove(path, e)) < 0)
            return rc;
    }
    return 0;
}

int identity_install(struct identity *id, const struct enrol_reply *reply,
                     const struct hw_id *token, int64_t now_s, struct err *e)
{
    struct candidate c = {.gateway = reply->gateway_id,
                          .token = *token,
                          .urls = reply->urls,
                          .cert_pem = strdup(reply->certificate_pem),
                          .ca_pem = strdup(reply->ca_pem)};
    if (!c.cert_pem || !c.ca_pem) {
        candidate_done(&c);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    int rc = judge(id, &c, e);
    if (rc == 0 && now_s >= c.info.not_after)
        rc = err_set(e, HW_EAUTH, "the certificate has ended already");
    /* Without its record the former enrolment is over; from then on only the new one can be found.
     */
    char record[PATH_MAX];
    if (rc == 0)
        rc = path_of(id, "identity.json", record, e);
    if (rc == 0)
        rc = fsutil_remove(record, e);
    if (rc == 0)
        rc = remove_former(id, &c, e);
    if (rc == 0)
        rc = write_text(id, "gateway-ca.pem", c.ca_pem, e);
    if (rc == 0)
        rc = write_text(id, "identity.pem", c.cert_pem, e);
    if (rc == 0)
        rc = write_record(id, &c.gateway, &c.token, &c.urls, e);
    if (rc < 0) {
        candidate_done(&c);
        (void)err_wrap(e, "install identity");
        return rc;
    }
    adopt(id, &c);
    return 0;
}

int identity_renew(struct identity *id, const char *certificate_pem, int64_t now_s, struct err *e)
{
    if (!id->enrolled)
        return err_set(e, HW_EINVAL, "not enrolled");
    struct candidate c = {.gateway = id->gateway,
                          .token = id->token,
                          .urls = id->urls,
                          .cert_pem = strdup(certificate_pem),
                          .ca_pem = strdup(id->ca_pem)};
    if (!c.cert_pem || !c.ca_pem) {
        candidate_done(&c);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    int rc = judge(id, &c, e);
    if (rc == 0 && now_s >= c.info.not_after)
        rc = err_set(e, HW_EAUTH, "the certificate has ended already");
    if (rc == 0)
        rc = write_text(id, "identity.pem", c.cert_pem, e);
    if (rc < 0) {
        candidate_done(&c);
        (void)err_wrap(e, "install renewed certificate");
        return rc;
    }
    adopt(id, &c);
    return 0;
}
