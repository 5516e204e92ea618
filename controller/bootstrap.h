/* `hawser-controller bootstrap`: what must exist before the first start. */
#ifndef HAWSER_CONTROLLER_BOOTSTRAP_H
#define HAWSER_CONTROLLER_BOOTSTRAP_H

#include "common/err.h"
#include "controller/settings.h"
#include <stdbool.h>
#include <stddef.h>

#define BOOTSTRAP_URLS_MAX 8

struct bootstrap_options {
    const char *urls[BOOTSTRAP_URLS_MAX]; /* by which people reach the controller; their hosts go
                                             into its certificate */
    size_t n_urls;
    bool new_admin_token; /* revoke the old one, make a new one, touch nothing else */
};

/* As the controller's user (drops to it when started as root). Prints what the admin needs to
 * standard output. HW_ECONFLICT when it was done before. */
int bootstrap_run(const struct settings *s, const struct bootstrap_options *o, struct err *e);

#endif
