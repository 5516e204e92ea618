/*
 * TLS 1.3 between gateways (keying; DESIGN section 5): both ends show a certificate of the gateway
 * CA, nothing is resumed (no tickets, PSK, early data, session cache). Non-blocking: every call may
 * answer HW_EAGAIN, and tls_conn_wants then says which event to wait for. Certificates are judged
 * at the time that the caller trusts.
 */
#ifndef HAWSER_COMMON_TLS_H
#define HAWSER_COMMON_TLS_H

#include "common/err.h"
#include "common/x509.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ssl_ctx_st; /* OpenSSL's SSL_CTX */
struct tls_context;
struct tls_conn;

enum tls_role { TLS_CLIENT, TLS_SERVER };

/* OpenSSL writes without MSG_NOSIGNAL: tls_context_new and http_client_new make the process ignore
 * SIGPIPE. */
void tls_ignore_sigpipe(void);

/* For one role; the arguments are not kept. Connections outlive a freed context. */
int tls_context_new(enum tls_role role, const struct x509_st *ca, const struct x509_st *cert,
                    const struct evp_pkey_st *key, struct tls_context **out, struct err *e);
void tls_context_free(struct tls_context *c);

/* Over a connected, non-blocking TCP socket, which stays the caller's (close it after
 * tls_conn_free). `now_s`: the time at which the peer's certificate is judged. */
int tls_conn_new(struct tls_context *c, int fd, int64_t now_s, struct tls_conn **out,
                 struct err *e);
void tls_conn_free(struct tls_conn *t);

/* 0 when done, HW_EAGAIN, HW_EAUTH when the peer's certificate does not pass, HW_ECLOSED,
 * HW_EPROTO. A client is done before the server has judged it: only an application message from the
 * server means accepted. */
int tls_conn_handshake(struct tls_conn *t, struct err *e);
/* EV_READ or EV_WRITE (evloop.h) after HW_EAGAIN. */
unsigned tls_conn_wants(const struct tls_conn *t);
/* > 0 bytes, 0 at the peer's orderly end, HW_EAGAIN, HW_EAUTH when the server refused this client's
 * certificate, HW_ECLOSED, HW_EPROTO. Read until HW_EAGAIN: bytes may wait inside TLS. */
ssize_t tls_conn_read(struct tls_conn *t, void *buf, size_t cap, struct err *e);
/* Bytes taken (maybe fewer than len), or as above; after HW_EAGAIN repeat with the same bytes. */
ssize_t tls_conn_write(struct tls_conn *t, const void *buf, size_t len, struct err *e);
/* Sends close_notify if there is room; does not wait. */
void tls_conn_shutdown(struct tls_conn *t);

/* The peer's certificate; only after a finished handshake (HW_EAGAIN before). */
int tls_conn_peer(const struct tls_conn *t, struct x509_info *out, struct err *e);
/* Exporter of RFC 8446 section 7.5, with context. Refused (HW_EAGAIN) before this end's handshake
 * is done: OpenSSL would answer a server that has not yet seen the client's certificate. */
int tls_conn_export(struct tls_conn *t, const char *label, const void *context, size_t context_len,
                    void *out, size_t len, struct err *e);

/* For libraries that bring their own SSL_CTX (http_client): TLS 1.3, no resumption, this CA alone,
 * this identity (cert and key may be NULL), judged at now_s, and the peer's SAN URI exactly
 * `peer_uri` (a literal; NULL: not checked). */
int tls_context_adopt(struct ssl_ctx_st *ctx, const struct x509_st *ca, const struct x509_st *cert,
                      const struct evp_pkey_st *key, int64_t now_s, const char *peer_uri,
                      struct err *e);

#endif
