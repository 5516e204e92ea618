#include "controller/ca/ca.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/ipaddr.h"
#include "common/model/signed_doc.h"
#include "common/secret.h"
#include "common/strbuf.h"
#include "controller/ca/issue.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

/* Certificates begin a little earlier than now: a machine's first clock may be behind. */
#define BACKDATE_S 300ll
#define DAY_S      86400ll
#define CA_CERT_S  (3652ll * DAY_S)
#define OWN_CERT_S (365ll * DAY_S)
#define WEB_CN_MAX 64

/* A key with its certificate, and the base name of their files. */
struct identity {
    struct evp_pkey_st *key;
    struct x509_st *cert;
};

struct ca {
    char dir[PATH_MAX];
    struct identity gateway_ca; /* never changes while open */
    char *pem;
    uint8_t pin[X509_PIN_LEN];
    char pin_hex[CA_PIN_HEX_MAX];
    pthread_mutex_t lock; /* guards config */
    struct identity config;
};

static void identity_done(struct identity *i)
{
    x509_key_free(i->key);
    x509_cert_free(i->cert);
    *i = (struct identity){0};
}

static int file_path(char out[PATH_MAX], const char *dir, const char *name, const char *suffix,
                     struct err *e)
{
    int n = snprintf(out, PATH_MAX, "%s/%s.%s", dir, name, suffix);
    return n > 0 && n < PATH_MAX ? 0 : err_set(e, HW_EINVAL, "path too long: %s", dir);
}

static bool exists(const char *dir, const char *name, const char *suffix)
{
    char path[PATH_MAX];
    return file_path(path, dir, name, suffix, NULL) == 0 && access(path, F_OK) == 0;
}

/* Whole or not at all: a crash leaves the old file or the new one. */
static int save_certificate(const char *dir, const char *name, const struct x509_st *cert,
                            struct err *e)
{
    char path[PATH_MAX], tmp[PATH_MAX];
    int rc = file_path(path, dir, name, "pem", e);
    if (!rc)
        rc = file_path(tmp, dir, name, "pem.tmp", e);
    if (rc)
        return rc;
    auto_free char *pem = x509_cert_pem(cert);
    if (!pem)
        return err_set(e, HW_ENOMEM, "out of memory");
    auto_close int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return err_errno(e, errno, "open %s", tmp);
    size_t len = strlen(pem);
    ssize_t n = write(fd, pem, len);
    if (n < 0 || (size_t)n != len || fsync(fd) || rename(tmp, path))
        return err_errno(e, errno, "write %s", path);
    auto_close int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0 || fsync(dir_fd))
        return err_errno(e, errno, "sync %s", dir);
    return 0;
}

static int save_identity(const char *dir, const char *name, const struct identity *i, struct err *e)
{
    char path[PATH_MAX];
    int rc = file_path(path, dir, name, "key", e);
    if (!rc)
        rc = x509_key_save(path, i->key, e);
    return rc ? rc : save_certificate(dir, name, i->cert, e);
}

/* HW_ENOTFOUND when a file is missing or the two don't belong together (a crash between both
 * writes). */
static int load_identity(const char *dir, const char *name, struct identity *out, struct err *e)
{
    char path[PATH_MAX];
    if (!exists(dir, name, "key") || !exists(dir, name, "pem"))
        return err_set(e, HW_ENOTFOUND, "%s/%s.{pem,key} are not there", dir, name);
    struct identity i = {0};
    int rc = file_path(path, dir, name, "key", e);
    if (!rc)
        rc = x509_key_load(path, &i.key, e);
    if (!rc)
        rc = file_path(path, dir, name, "pem", e);
    if (!rc)
        rc = x509_cert_load(path, &i.cert, e);
    if (!rc && !x509_cert_has_key(i.cert, i.key))
        rc = err_set(e, HW_ENOTFOUND, "%s/%s.pem is not the certificate of its key", dir, name);
    if (rc) {
        identity_done(&i);
        return rc;
    }
    *out = i;
    return 0;
}

/* A new key with a certificate of `issuer` (NULL: its own). *out is set on success alone. */
static int make_identity(struct issue_request *r, const struct identity *issuer,
                         struct identity *out, struct err *e)
{
    struct identity i = {0};
    int rc = x509_key_new(&i.key, e);
    if (rc)
        return rc;
    r->subject_key = i.key;
    rc = issue_certificate(r, issuer ? issuer->cert : NULL, issuer ? issuer->key : i.key, &i.cert,
                           e);
    if (rc) {
        identity_done(&i);
        return rc;
    }
    *out = i;
    return 0;
}

static int make_authority(const char *dir, const char *name, const char *common_name, int64_t now_s,
                          struct identity *out, struct err *e)
{
    struct issue_request r = {.common_name = common_name,
                              .is_ca = true,
                              .not_before = now_s - BACKDATE_S,
                              .not_after = now_s + CA_CERT_S};
    int rc = make_identity(&r, NULL, out, e);
    if (rc)
        return rc;
    rc = save_identity(dir, name, out, e);
    if (rc)
        identity_done(out);
    return rc;
}

/* The controller's own certificates, by the base name of their files. */
static const struct own {
    const char *file, *common_name, *san;
    bool server;
} own_config = {"config", "config signer", "URI:" X509_URI_CONFIG, false},
  own_listener = {"agent-listener", "agents' listener", "URI:" X509_URI_CONTROLLER, true};

static int make_own(const char *dir, const struct own *own, const struct identity *issuer,
                    int64_t now_s, struct identity *out, struct err *e)
{
    struct issue_request r = {.common_name = own->common_name,
                              .san = own->san,
                              .server = own->server,
                              .not_before = now_s - BACKDATE_S,
                              .not_after = now_s + OWN_CERT_S};
    struct identity i;
    int rc = make_identity(&r, issuer, &i, e);
    if (rc)
        return rc;
    rc = save_identity(dir, own->file, &i, e);
    if (rc || !out)
        identity_done(&i);
    else
        *out = i;
    return rc;
}

int ca_create(const char *dir, int64_t now_s, struct err *e)
{
    /* A key alone is what an interrupted run left: nothing was ever signed with it. */
    if (exists(dir, "gateway-ca", "pem"))
        return err_set(e, HW_ECONFLICT, "%s holds a gateway CA already", dir);
    struct identity authority;
    int rc = make_authority(dir, "gateway-ca", "gateway CA", now_s, &authority, e);
    if (rc)
        return err_wrap(e, "make the gateway CA");
    rc = make_own(dir, &own_config, &authority, now_s, NULL, e);
    if (!rc)
        rc = make_own(dir, &own_listener, &authority, now_s, NULL, e);
    identity_done(&authority);
    return rc ? err_wrap(e, "make the controller's certificates") : 0;
}

/* ---- web ---- */

/* "DNS:a,IP:192.0.2.1". Names come from settings and the command line: a comma in one would add a
 * name. */
static int web_names(const char *const *names, size_t n, struct strbuf *out, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        struct ipaddr ip;
        bool is_ip = ipaddr_parse(names[i], &ip) == 0;
        size_t len = strlen(names[i]);
        if (!is_ip &&
            (len == 0 || len > 253 ||
             strspn(names[i],
                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.*") != len))
            return err_set(e, HW_EINVAL, "\"%s\" is neither a host name nor an address", names[i]);
        strbuf_printf(out, "%s%s:%s", i ? "," : "", is_ip ? "IP" : "DNS", names[i]);
    }
    return out->failed ? err_set(e, HW_ENOMEM, "out of memory") : 0;
}

/* `with_ca`: also makes a web CA that is missing. Never later than bootstrap: people trust the one
 * that they were given. */
static int make_web(const char *dir, struct issue_request *r, bool with_ca, int64_t now_s,
                    struct err *e)
{
    struct identity authority, web;
    int rc = load_identity(dir, "web-ca", &authority, e);
    if (rc == HW_ENOTFOUND && with_ca)
        rc = make_authority(dir, "web-ca", "web CA", now_s, &authority, e);
    if (rc)
        return rc;
    r->server = true;
    r->not_before = now_s - BACKDATE_S;
    r->not_after = now_s + OWN_CERT_S;
    rc = make_identity(r, &authority, &web, e);
    if (!rc) {
        rc = save_identity(dir, "web", &web, e);
        identity_done(&web);
    }
    identity_done(&authority);
    return rc;
}

int ca_create_web(const char *dir, const char *const *names, size_t n_names, int64_t now_s,
                  struct err *e)
{
    if (n_names == 0)
        return err_set(e, HW_EINVAL, "a web server's certificate needs a name");
    struct strbuf san = STRBUF_INIT;
    int rc = web_names(names, n_names, &san, e);
    if (!rc) {
        struct issue_request r = {.common_name =
                                      strlen(names[0]) <= WEB_CN_MAX ? names[0] : "controller",
                                  .san = strbuf_str(&san)};
        rc = make_web(dir, &r, true, now_s, e);
    }
    strbuf_done(&san);
    return rc ? err_wrap(e, "make the web server's certificate") : 0;
}

/* ---- renewal ---- */

/* Half of its time is over, it has not begun (the clock was ahead when it was made), or it cannot
 * be read as what it should be. */
static bool is_due(const struct x509_st *cert, int64_t now_s)
{
    struct x509_info info;
    if (x509_cert_info(cert, &info, NULL))
        return true;
    return now_s < info.not_before ||
           now_s >= info.not_before + (info.not_after - info.not_before) / 2;
}

/* What a renewal takes up. */
enum renewal { RENEW_MISSING, RENEW_DUE };

static int renew_listener(struct ca *ca, enum renewal what, int64_t now_s, bool *renewed,
                          struct err *e)
{
    struct identity i;
    int rc = load_identity(ca->dir, own_listener.file, &i, e);
    if (rc && rc != HW_ENOTFOUND)
        return rc;
    bool due = rc || (what == RENEW_DUE && is_due(i.cert, now_s));
    if (!rc)
        identity_done(&i);
    if (!due)
        return 0;
    *renewed = true;
    return make_own(ca->dir, &own_listener, &ca->gateway_ca, now_s, NULL, e);
}

static int renew_config(struct ca *ca, enum renewal what, int64_t now_s, bool *renewed,
                        struct err *e)
{
    pthread_mutex_lock(&ca->lock);
    int rc = 0;
    if (!ca->config.cert || (what == RENEW_DUE && is_due(ca->config.cert, now_s))) {
        struct identity i;
        rc = make_own(ca->dir, &own_config, &ca->gateway_ca, now_s, &i, e);
        if (!rc) {
            identity_done(&ca->config);
            ca->config = i;
            *renewed = true;
        }
    }
    pthread_mutex_unlock(&ca->lock);
    return rc;
}

/* Only where bootstrap made one; an operator's own certificate stands elsewhere and is not ours to
 * renew. A key without its certificate, when the controller opens, was left by a crash: the old
 * certificate tells the names. While it runs somebody may be putting in another pair. */
static int renew_web(struct ca *ca, enum renewal what, int64_t now_s, bool *renewed, struct err *e)
{
    char path[PATH_MAX];
    struct identity i;
    if (!exists(ca->dir, "web", "pem"))
        return 0;
    int rc = load_identity(ca->dir, "web", &i, e);
    if (rc == HW_ENOTFOUND && what == RENEW_DUE)
        return 0;
    bool due = rc == HW_ENOTFOUND || (!rc && what == RENEW_DUE && is_due(i.cert, now_s));
    if (rc == HW_ENOTFOUND) {
        i = (struct identity){0};
        rc = file_path(path, ca->dir, "web", "pem", e);
        if (!rc)
            rc = x509_cert_load(path, &i.cert, e);
    }
    if (rc)
        return rc;
    if (due) {
        struct issue_request r = {.common_name = "controller", .san_of = i.cert};
        rc = make_web(ca->dir, &r, false, now_s, e);
        *renewed = *renewed || rc == 0;
    }
    identity_done(&i);
    return rc;
}

/* Outside of it no agent can be talked to, and nothing else would say why. */
static int check_time(const struct ca *ca, int64_t now_s, struct err *e)
{
    struct x509_info info;
    char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX], now[CLOCK_TEXT_MAX];
    int rc = x509_cert_info(ca->gateway_ca.cert, &info, e);
    if (rc || (now_s >= info.not_before && now_s <= info.not_after))
        return rc;
    return err_set(
        e, HW_EFAIL, "the gateway CA is valid from %s to %s and it is %s: is the clock right?",
        clock_text(info.not_before, from), clock_text(info.not_after, to), clock_text(now_s, now));
}

/* Each for itself: what can't be renewed does not keep the others from it. */
int ca_renew_own(struct ca *ca, int64_t now_s, bool *renewed, struct err *e)
{
    struct err more = {0};
    *renewed = false;
    int first = renew_config(ca, RENEW_DUE, now_s, renewed, e);
    int rc = renew_listener(ca, RENEW_DUE, now_s, renewed, first ? &more : e);
    first = first ? first : rc;
    rc = renew_web(ca, RENEW_DUE, now_s, renewed, first ? &more : e);
    first = first ? first : rc;
    rc = check_time(ca, now_s, first ? &more : e);
    first = first ? first : rc;
    return first ? err_wrap(e, "renew the controller's certificates") : 0;
}

/* ---- open ---- */

static void hex(const uint8_t *in, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[in[i] >> 4];
        out[2 * i + 1] = digits[in[i] & 15];
    }
    out[2 * n] = '\0';
}

static int open_into(struct ca *ca, const char *dir, int64_t now_s, struct err *e)
{
    if (strlen(dir) >= sizeof ca->dir)
        return err_set(e, HW_EINVAL, "path too long: %s", dir);
    memcpy(ca->dir, dir, strlen(dir) + 1);
    int rc = load_identity(dir, "gateway-ca", &ca->gateway_ca, e);
    if (rc)
        return rc;
    ca->pem = x509_cert_pem(ca->gateway_ca.cert);
    if (!ca->pem)
        return err_set(e, HW_ENOMEM, "out of memory");
    rc = x509_cert_pin(ca->gateway_ca.cert, ca->pin, e);
    if (rc)
        return rc;
    hex(ca->pin, sizeof ca->pin, ca->pin_hex);
    rc = load_identity(dir, own_config.file, &ca->config, e);
    if (rc && rc != HW_ENOTFOUND)
        return rc;
    bool made = false;
    rc = renew_config(ca, RENEW_MISSING, now_s, &made, e);
    if (!rc)
        rc = renew_listener(ca, RENEW_MISSING, now_s, &made, e);
    return rc ? rc : renew_web(ca, RENEW_MISSING, now_s, &made, e);
}

int ca_open(const char *dir, int64_t now_s, struct ca **out, struct err *e)
{
    struct ca *ca = calloc(1, sizeof *ca);
    if (!ca)
        return err_set(e, HW_ENOMEM, "out of memory");
    pthread_mutex_init(&ca->lock, NULL);
    int rc = open_into(ca, dir, now_s, e);
    if (rc) {
        ca_free(ca);
        return rc;
    }
    *out = ca;
    return 0;
}

void ca_free(struct ca *ca)
{
    if (!ca)
        return;
    identity_done(&ca->gateway_ca);
    identity_done(&ca->config);
    pthread_mutex_destroy(&ca->lock);
    free(ca->pem);
    free(ca);
}

const char *ca_pem(const struct ca *ca)
{
    return ca->pem;
}

const char *ca_pin(const struct ca *ca)
{
    return ca->pin_hex;
}

void ca_pin_bytes(const struct ca *ca, uint8_t out[X509_PIN_LEN])
{
    memcpy(out, ca->pin, X509_PIN_LEN);
}

/* ---- gateways ---- */

static int read_csr(const char *csr_pem, struct evp_pkey_st **key, struct err *e)
{
    struct err why = {0};
    int rc = x509_csr_read(csr_pem, strlen(csr_pem), key, &why);
    return rc ? err_set_field(e, HW_EINVAL, "csr_pem", "%.400s", why.text) : 0;
}

int ca_csr_pin(const char *csr_pem, uint8_t out[X509_PIN_LEN], struct err *e)
{
    struct evp_pkey_st *key;
    int rc = read_csr(csr_pem, &key, e);
    if (rc)
        return rc;
    rc = x509_key_pin(key, out, e);
    x509_key_free(key);
    return rc;
}

int ca_issue_gateway(struct ca *ca, const char *csr_pem, const struct hw_id *gateway, int64_t now_s,
                     struct ca_issued *out, struct err *e)
{
    char id[ID_TEXT_MAX], san[X509_URI_MAX];
    (void)snprintf(san, sizeof san, "URI:" X509_URI_GATEWAY "%s", id_text(gateway, id));
    struct issue_request r = {.common_name = id,
                              .san = san,
                              .server = true,
                              .client = true,
                              .not_before = now_s - BACKDATE_S,
                              .not_after = now_s + CA_GATEWAY_CERT_S};
    struct evp_pkey_st *key;
    int rc = read_csr(csr_pem, &key, e);
    if (rc)
        return rc;
    r.subject_key = key;
    struct x509_st *cert = NULL;
    struct ca_issued i = {0};
    struct x509_info info = {0};
    rc = issue_certificate(&r, ca->gateway_ca.cert, ca->gateway_ca.key, &cert, e);
    if (!rc)
        rc = x509_cert_info(cert, &info, e);
    if (!rc) {
        i.pem = x509_cert_pem(cert);
        i.not_before = info.not_before;
        i.not_after = info.not_after;
        memcpy(i.serial, info.serial, sizeof i.serial);
        if (i.pem)
            *out = i;
        else
            rc = err_set(e, HW_ENOMEM, "out of memory");
    }
    x509_cert_free(cert);
    x509_key_free(key);
    return rc;
}

void ca_issued_done(struct ca_issued *i)
{
    free(i->pem);
    *i = (struct ca_issued){0};
}

/* ---- signing ---- */

static int sign(struct ca *ca, const uint8_t *bytes, size_t len, struct ca_signature *out,
                struct err *e)
{
    struct ca_signature s = {0};
    pthread_mutex_lock(&ca->lock);
    int rc = x509_sign(ca->config.key, bytes, len, s.sig, &s.sig_len, e);
    if (!rc)
        rc = x509_cert_der(ca->config.cert, &s.signer_der, &s.signer_len, e);
    pthread_mutex_unlock(&ca->lock);
    if (!rc)
        *out = s;
    return rc;
}

int ca_sign_config(struct ca *ca, const struct hw_id *gateway, uint64_t revision, const void *body,
                   size_t len, struct ca_signature *out, struct err *e)
{
    auto_free uint8_t *bytes = NULL;
    size_t n;
    if (signed_config_bytes(gateway, revision, body, len, &bytes, &n))
        return err_set(e, HW_ENOMEM, "out of memory");
    return sign(ca, bytes, n, out, e);
}

int ca_sign_denials(struct ca *ca, uint64_t number, const void *body, size_t len,
                    struct ca_signature *out, struct err *e)
{
    auto_free uint8_t *bytes = NULL;
    size_t n;
    if (signed_denials_bytes(number, body, len, &bytes, &n))
        return err_set(e, HW_ENOMEM, "out of memory");
    return sign(ca, bytes, n, out, e);
}

void ca_signature_done(struct ca_signature *s)
{
    free(s->signer_der);
    *s = (struct ca_signature){0};
}

bool ca_is_signer(struct ca *ca, const void *der, size_t len)
{
    uint8_t *own = NULL;
    size_t n = 0;
    pthread_mutex_lock(&ca->lock);
    int rc = x509_cert_der(ca->config.cert, &own, &n, NULL);
    pthread_mutex_unlock(&ca->lock);
    bool same = !rc && n == len && memcmp(own, der, n) == 0;
    free(own);
    return same;
}
