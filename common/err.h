/*
 * Errors of control code (STYLE: errors).
 *
 * Functions that can fail return 0 or one negative `enum hw_err`. A code of its own exists only
 * where a caller branches on it. Text for people travels beside it in a `struct err`, which each
 * layer may prefix with what it was doing: "apply revision 41: tunnel 3: open udp socket: address
 * in use".
 */
#ifndef HAWSER_COMMON_ERR_H
#define HAWSER_COMMON_ERR_H

#include <stddef.h>

enum hw_err {
    HW_OK = 0,
    HW_EFAIL = -1,  /* anything without a code of its own */
    HW_EINVAL = -2, /* input refused; err.field names the part at fault */
    HW_ENOTFOUND = -3,
    HW_ECONFLICT = -4,
    HW_EAUTH = -5,      /* who are you: no or bad credentials */
    HW_EFORBIDDEN = -6, /* known, but not allowed */
    HW_EAGAIN = -7,     /* not now; the same call may succeed later */
    HW_ETIMEOUT = -8,
    HW_ECLOSED = -9, /* the peer went away */
    HW_ENOMEM = -10,
    HW_ESTALE = -11, /* precondition failed: an older version was named */
    HW_ETOOBIG = -12,
    HW_EPROTO = -13, /* a peer broke the protocol */
};

#define ERR_TEXT_MAX  512
#define ERR_FIELD_MAX 128

struct err {
    int code;                  /* enum hw_err */
    char field[ERR_FIELD_MAX]; /* JSON path of the value at fault, or "" */
    char text[ERR_TEXT_MAX];
};

/* Short constant name of a code: "not_found". Never NULL. */
const char *err_name(int code);

/* Fills *e (which may be NULL) and returns `code`, so that `return err_set(e, HW_EFAIL, "…")` reads
 * well. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same with the field at fault. */
int err_set_field(struct err *e, int code, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Prefixes the text with context: "context: text". Returns e's code (HW_EFAIL when e is NULL). */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As err_set with HW_EFAIL, with ": " and strerror(errnum) appended. */
int err_errno(struct err *e, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
