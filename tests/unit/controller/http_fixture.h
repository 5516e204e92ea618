/* Both listeners of the HTTP server with a small application behind them, and a client on plain
 * sockets. */
#ifndef HAWSER_TESTS_HTTP_FIXTURE_H
#define HAWSER_TESTS_HTTP_FIXTURE_H

#include "controller/ca/ca.h"
#include "controller/http/server.h"
#include "tests/unit/suite.h"
#include <openssl/ssl.h>
#include <stdatomic.h>

#define WAIT_MS 10000 /* longest wait for anything; conditions end it much earlier */

/* Made before the first test. */
extern struct ca *ca;
extern char *web_cert, *web_key, *listener_cert, *listener_key;

/* Between start() and stop(). */
extern struct http_server *server;
extern unsigned ports[HTTP_LISTENERS];

/* What the application tells the tests, and how long it parks. "/park" parks; "/park-and-wake"
 * wakes itself before it is suspended; "/park-late" parks until its time is over, and for the first
 * time when its connection has been cut; "/refused" is refused before its body; "/cert" shows the
 * client's certificate; all others answer with what they were asked. */
extern _Atomic uint64_t parked_ticket;
extern atomic_int ended, park_overs;
extern atomic_uint park_ms;

void start(unsigned request_seconds, unsigned per_client);
void stop(void);
void wait_for(bool (*condition)(void));
/* Of both listeners together. */
struct http_server_counters counters(void);
bool one_parked(void);
bool one_ended(void);

struct client {
    SSL_CTX *ctx;
    SSL *ssl;
    int fd;
};

/* A TCP connection to a port of this machine; -1 when it is refused, or a failure of the test. */
int tcp_try(unsigned port);
int tcp(unsigned port);
/* cert NULL: none shown, and usable from any thread. False when the connection or the handshake
 * fails; to be closed all the same. */
bool client_open(struct client *c, enum http_listener l, X509 *cert, EVP_PKEY *key);
void client_close(struct client *c);
void client_send(struct client *c, const char *text);
/* One whole answer (or what came until the end) into out. Returns its status, 0 when nothing came.
 */
int client_read(struct client *c, char *out, size_t cap);
int ask(struct client *c, const char *request, char *out, size_t cap);
/* One request on a connection of its own; the answer's text in out. */
int once(const char *request, char *out, size_t cap);

/* The suite with its CA and certificates made before and removed after; what main returns. */
int http_suite_run(const char *name, CU_TestInfo *tests);

#endif
