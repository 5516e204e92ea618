/* The names and addresses by which people reach the controller, for its server certificate. */
#ifndef HAWSER_CONTROLLER_WEB_NAMES_H
#define HAWSER_CONTROLLER_WEB_NAMES_H

#include "common/err.h"
#include "controller/settings.h"
#include <stddef.h>

#define WEB_NAMES_MAX 64
#define WEB_NAME_LEN  254

struct web_names {
    char text[WEB_NAMES_MAX][WEB_NAME_LEN];
    const char *list[WEB_NAMES_MAX]; /* into text */
    size_t n;
};

/* Hosts of the URLs, this machine's name, localhost, and the addresses that it listens on (all of
 * its own for a wildcard). More than fit are left out. HW_EINVAL for a URL that is not
 * https://HOST[:PORT]. */
int web_names_collect(const struct settings *s, const char *const *urls, size_t n_urls,
                      struct web_names *out, struct err *e);

#endif
