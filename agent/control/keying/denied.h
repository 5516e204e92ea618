/* Revoked gateways and certificates, as keying needs them: a set to look up in. */
#ifndef HAWSER_AGENT_CONTROL_KEYING_DENIED_H
#define HAWSER_AGENT_CONTROL_KEYING_DENIED_H

#include "common/err.h"
#include "common/id.h"
#include "common/x509.h"
#include <stdbool.h>
#include <stddef.h>

struct denied {
    struct hw_id *gateways;
    size_t n_gateways;
    char (*serials)[X509_SERIAL_MAX];
    size_t n_serials;
    struct hw_id *permissions; /* of the encryption policy, that have ended */
    size_t n_permissions;
};

/* Replaces the gateways and serials; on failure the old one stays. */
int denied_set(struct denied *d, const struct hw_id *gateways, size_t n_gateways,
               const char *const *serials, size_t n_serials, struct err *e);
int denied_set_permissions(struct denied *d, const struct hw_id *ids, size_t n, struct err *e);
void denied_done(struct denied *d);
bool denied_gateway(const struct denied *d, const struct hw_id *id);
/* Lower-case hexadecimal; "" is never denied. */
bool denied_serial(const struct denied *d, const char *serial);
bool denied_permission(const struct denied *d, const struct hw_id *id);

#endif
