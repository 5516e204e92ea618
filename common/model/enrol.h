/* Enrolment: the token that carries trust to a new machine, and the bodies of enrol and renew
 * (docs/protocols.md). */
#ifndef HAWSER_COMMON_MODEL_ENROL_H
#define HAWSER_COMMON_MODEL_ENROL_H

#include "common/err.h"
#include "common/id.h"
#include "common/limits.h"
#include "common/model/node.h"
#include <stddef.h>
#include <stdint.h>

#define ENROL_TOKEN_PREFIX "hwt1."
#define ENROL_SECRET_LEN   32
#define ENROL_PINS_MAX     4
#define ENROL_PIN_LEN      32
#define ENROL_URL_MAX      256
#define ENROL_TOKEN_MAX    8192
#define ENROL_VERSION_MAX  64
#define ENROL_CSR_MAX      8192
#define ENROL_PEM_MAX      65536

struct enrol_urls {
    char url[HW_URLS_MAX][ENROL_URL_MAX]; /* https://HOST:PORT without path */
    size_t n;
};

struct enrol_token {
    struct enrol_urls urls;
    uint8_t pins[ENROL_PINS_MAX]
                [ENROL_PIN_LEN]; /* SHA-256 of the gateway CA's SubjectPublicKeyInfo */
    size_t n_pins;
    struct hw_id id;
    uint8_t secret[ENROL_SECRET_LEN]; /* wipe the struct after use */
};

/* "hwt1.…" to wipe and free; NULL when out of memory. */
char *enrol_token_encode(const struct enrol_token *t);
/* White space around is ignored (token files end with a newline). */
int enrol_token_decode(const char *text, size_t len, struct enrol_token *out, struct err *e);

struct enrol_request {
    struct hw_id token_id;
    uint8_t secret[ENROL_SECRET_LEN];
    char csr_pem[ENROL_CSR_MAX];
    char name[HW_NAME_MAX + 1];
    struct hw_id boot_id;
    char agent_version[ENROL_VERSION_MAX];
    char provider[HW_NAME_MAX + 1]; /* "" = null */
    char region[HW_NAME_MAX + 1];
    char size[HW_NAME_MAX + 1];
    struct node node;
};
char *enrol_request_encode(const struct enrol_request *r, size_t *len); /* wipe and free */
int enrol_request_decode(const char *json, size_t len, struct enrol_request *out, struct err *e);

struct enrol_reply {
    struct hw_id gateway_id;
    char *certificate_pem;
    char *ca_pem;
    struct enrol_urls urls;
};
char *enrol_reply_encode(const struct enrol_reply *r, size_t *len);
int enrol_reply_decode(const char *json, size_t len, struct enrol_reply *out, struct err *e);
void enrol_reply_done(struct enrol_reply *r);

/* POST /agent/v1/renew: {csr_pem} and {certificate_pem, ca_pem}. Strings are to be freed. */
char *enrol_renew_request_encode(const char *csr_pem, size_t *len);
int enrol_renew_request_decode(const char *json, size_t len, char **csr_pem, struct err *e);
char *enrol_renew_reply_encode(const char *certificate_pem, const char *ca_pem, size_t *len);
int enrol_renew_reply_decode(const char *json, size_t len, char **certificate_pem, char **ca_pem,
                             struct err *e);

#endif
