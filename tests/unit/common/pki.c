#include "tests/unit/common/pki.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static char dir[] = "/tmp/hawser-pki-XXXXXX";

/* name, CA, SAN, extended key usage */
static const char *const rows[][4] = {
    {"gateway-a", "ca", "URI:hawser://gateway/" PKI_GATEWAY_A, "serverAuth,clientAuth"},
    {"gateway-b", "ca", "URI:hawser://gateway/" PKI_GATEWAY_B, "serverAuth,clientAuth"},
    {"server-only", "ca", "URI:hawser://gateway/" PKI_GATEWAY_B, "serverAuth"},
    {"controller", "ca", "URI:hawser://controller,DNS:localhost", "serverAuth"},
    {"config", "ca", "URI:hawser://controller/config", NULL},
    {"two-uris", "ca", "URI:hawser://controller,URI:hawser://controller/config", "serverAuth"},
    {"no-uri", "ca", "DNS:localhost", "serverAuth"},
    {"foreign-a", "other-ca", "URI:hawser://gateway/" PKI_GATEWAY_A, "serverAuth,clientAuth"},
    {"foreign-controller", "other-ca", "URI:hawser://controller", "serverAuth"},
    {"foreign-config", "other-ca", "URI:hawser://controller/config", NULL},
};

int pki_shell(const char *command)
{
    int rc = system(command);
    return WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

static void must(const char *command)
{
    if (pki_shell(command) != 0) {
        (void)fprintf(stderr, "failed: %s\n", command);
        abort();
    }
}

static void make_ca(const char *name)
{
    char cmd[1024];
    (void)snprintf(
        cmd, sizeof cmd,
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 "
        "-subj '/CN=%s' -addext basicConstraints=critical,CA:TRUE "
        "-addext keyUsage=critical,keyCertSign,cRLSign "
        "-keyout $D/%s.key -out $D/%s.pem 2>/dev/null",
        name, name, name);
    must(cmd);
}

static void make_cert(const char *const row[4])
{
    char cmd[2048];
    (void)snprintf(
        cmd, sizeof cmd,
        "cd $D && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=%s' "
        "-keyout %s.key -out %s.csr 2>/dev/null && "
        "printf 'basicConstraints=critical,CA:FALSE\\nkeyUsage=critical,digitalSignature\\n"
        "subjectAltName=%s\\n%s%s' > %s.ext && "
        "openssl x509 -req -in %s.csr -CA %s.pem -CAkey %s.key -days 30 -extfile %s.ext -out "
        "%s.pem "
        "2>/dev/null",
        row[0], row[0], row[0], row[2], row[3] ? "extendedKeyUsage=" : "", row[3] ? row[3] : "",
        row[0], row[0], row[1], row[1], row[0], row[0]);
    must(cmd);
}

void pki_up(void)
{
    if (!mkdtemp(dir) || setenv("D", dir, 1) != 0)
        abort();
    make_ca("ca");
    make_ca("other-ca");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        make_cert(rows[i]);
}

void pki_down(void)
{
    (void)pki_shell("rm -rf $D");
}

const char *pki_path(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *p = paths[next++ % 4];
    (void)snprintf(p, sizeof paths[0], "%s/%s", dir, name);
    return p;
}

struct x509_st *pki_cert(const char *name)
{
    char file[64];
    struct x509_st *cert;
    (void)snprintf(file, sizeof file, "%s.pem", name);
    if (x509_cert_load(pki_path(file), &cert, NULL) != 0)
        abort();
    return cert;
}

struct evp_pkey_st *pki_key(const char *name)
{
    char file[64];
    struct evp_pkey_st *key;
    (void)snprintf(file, sizeof file, "%s.key", name);
    if (x509_key_load(pki_path(file), &key, NULL) != 0)
        abort();
    return key;
}
