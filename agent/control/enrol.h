/*
 * Enrolment with a token file (DESIGN section 3): fetch the gateway CA without trusting anybody,
 * compare its pin, then ask for a certificate over verified TLS. Blocking; the same key and token
 * may be tried again at any time.
 */
#ifndef HAWSER_AGENT_CONTROL_ENROL_H
#define HAWSER_AGENT_CONTROL_ENROL_H

#include "agent/control/agent_clock.h"
#include "agent/control/identity.h"
#include "agent/control/settings.h"
#include "common/err.h"

/* Reads the token, asks each of its URLs in turn, installs the identity, and removes the token file
 * once the certificate is on disk. HW_ENOTFOUND: there is no token file. HW_EFORBIDDEN: the token
 * was refused (another key's, used up, ended, unknown) or its file can be read by others; trying
 * again will not help. Anything else may pass by itself. */
int enrol_run(const struct agent_settings *s, const char *token_file, struct identity *id,
              struct agent_clock *clock, struct err *e);

#endif
