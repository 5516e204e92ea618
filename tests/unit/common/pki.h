/* A small PKI for tests, made by the openssl command, so that our own code is judged by foreign
 * certificates. */
#ifndef HAWSER_TESTS_PKI_H
#define HAWSER_TESTS_PKI_H

#include "common/x509.h"
#include <stddef.h>

#define PKI_GATEWAY_A "11111111-1111-4111-8111-111111111111"
#define PKI_GATEWAY_B "22222222-2222-4222-8222-222222222222"

/* Makes NAME.key and NAME.pem for each row of the table in pki.c in a new directory; aborts on
 * failure. */
void pki_up(void);
void pki_down(void);
/* Path of a file in the directory; one of a few static buffers. */
const char *pki_path(const char *name);
struct x509_st *pki_cert(const char *name); /* "ca", "gateway-a", … */
struct evp_pkey_st *pki_key(const char *name);
/* Runs a shell command with $D set to the directory; its exit status. */
int pki_shell(const char *command);

#endif
