#include "common/err.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Indexed by the negated code. */
static const char *const names[] = {
    [-HW_OK] = "ok",
    [-HW_EFAIL] = "failed",
    [-HW_EINVAL] = "invalid",
    [-HW_ENOTFOUND] = "not_found",
    [-HW_ECONFLICT] = "conflict",
    [-HW_EAUTH] = "unauthenticated",
    [-HW_EFORBIDDEN] = "forbidden",
    [-HW_EAGAIN] = "again",
    [-HW_ETIMEOUT] = "timeout",
    [-HW_ECLOSED] = "closed",
    [-HW_ENOMEM] = "no_memory",
    [-HW_ESTALE] = "stale",
    [-HW_ETOOBIG] = "too_big",
    [-HW_EPROTO] = "protocol",
};

const char *err_name(int code)
{
    if (code > 0 || code <= -(int)(sizeof names / sizeof names[0]))
        return "unknown";
    return names[-code];
}

static void fill(struct err *e, int code, const char *field, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

static void fill(struct err *e, int code, const char *field, const char *fmt, va_list ap)
{
    if (!e)
        return;
    /* `field` and the arguments may point into *e itself: build the new one beside it. */
    struct err n = {.code = code};
    (void)snprintf(n.field, sizeof n.field, "%s", field);
    (void)vsnprintf(n.text, sizeof n.text, fmt, ap);
    *e = n;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(e, code, "", fmt, ap);
    va_end(ap);
    return code;
}

int err_set_field(struct err *e, int code, const char *field, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(e, code, field, fmt, ap);
    va_end(ap);
    return code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    if (!e)
        return HW_EFAIL;
    char text[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof text - 2) {
        memcpy(text + used, ": ", 2);
        used += 2;
        size_t rest = strnlen(e->text, sizeof text - 1 - used);
        memcpy(text + used, e->text, rest);
        text[used + rest] = '\0';
    }
    memcpy(e->text, text, sizeof text);
    return e->code;
}

int err_errno(struct err *e, int errnum, const char *fmt, ...)
{
    if (e) {
        va_list ap;
        va_start(ap, fmt);
        fill(e, HW_EFAIL, "", fmt, ap);
        va_end(ap);
        size_t used = strlen(e->text);
        char why[128];
        (void)snprintf(e->text + used, sizeof e->text - used, ": %s",
                       strerror_r(errnum, why, sizeof why));
    }
    return HW_EFAIL;
}
