/* OpenSSL's queue of errors, turned into ours; only for the files of common that call OpenSSL. */
#ifndef HAWSER_COMMON_OSSL_ERR_H
#define HAWSER_COMMON_OSSL_ERR_H

#include "common/err.h"

/* Returns `code` with `what` and OpenSSL's own words, and empties its queue. */
int ossl_err(struct err *e, int code, const char *what);
void ossl_err_clear(void);

#endif
