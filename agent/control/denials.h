/*
 * Revoked gateways and certificates (DESIGN section 4, "Denials never roll back"): one signed
 * document, the same for all gateways, with a rising number of its own. Kept in
 * STATE_DIR/denials.json over restart and rollback.
 */
#ifndef HAWSER_AGENT_CONTROL_DENIALS_H
#define HAWSER_AGENT_CONTROL_DENIALS_H

#include "common/err.h"
#include "common/id.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct denials;

/* Loads the document kept on disk, if any; a damaged one is an error (nobody may be un-revoked by a
 * bad block). */
int denials_load(const char *state_dir, struct denials **out, struct err *e);
void denials_free(struct denials *d);

uint64_t denials_number(const struct denials *d);
bool denials_has_gateway(const struct denials *d, const struct hw_id *gateway);
/* Lower-case hex without leading zeros, as identity_serial gives it. */
bool denials_has_serial(const struct denials *d, const char *serial_hex);

/* Takes a signed document whose signature the caller has verified; HW_ESTALE when its number is
 * lower than the one in force. On disk when this returns 0. */
int denials_take(struct denials *d, uint64_t number, const void *body, size_t len, struct err *e);

#endif
