#include "common/ossl_err.h"
#include <openssl/err.h>

int ossl_err(struct err *e, int code, const char *what)
{
    unsigned long first = ERR_peek_error();
    const char *reason = first ? ERR_reason_error_string(first) : NULL;
    ERR_clear_error();
    return reason ? err_set(e, code, "%s: %s", what, reason) : err_set(e, code, "%s", what);
}

void ossl_err_clear(void)
{
    ERR_clear_error();
}
