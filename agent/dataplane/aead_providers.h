/* The providers behind aead.c's table; nobody else includes this. */
#ifndef HAWSER_DATAPLANE_AEAD_PROVIDERS_H
#define HAWSER_DATAPLANE_AEAD_PROVIDERS_H

#include "agent/dataplane/aead.h"

extern const struct aead_provider aead_ipsec_mb, aead_openssl;

int aead_ipsec_mb_init(struct err *e);
bool aead_ipsec_mb_usable(void); /* after init: this machine has AES instructions */
int aead_openssl_init(struct err *e);
bool aead_openssl_usable(void);

#endif
