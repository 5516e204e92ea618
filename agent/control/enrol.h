/*
 * Enrolment with a token from a file or from user data (DESIGN section 3): fetch the gateway CA
 * without trusting anybody, compare its pin, then ask for a certificate over verified TLS. The same
 * key and token may be tried again at any time: a lost reply costs nothing.
 */
#ifndef HAWSER_AGENT_CONTROL_ENROL_H
#define HAWSER_AGENT_CONTROL_ENROL_H

#include "agent/control/agent_clock.h"
#include "agent/control/identity.h"
#include "agent/control/settings.h"
#include "common/err.h"
#include "common/evloop.h"

struct cloud_facts;
struct enrol;

/* 0: the identity is installed and the token file gone. HW_EFORBIDDEN: the token was refused
 * (another key's, used up, ended, unknown); trying again will not help. Anything else may pass by
 * itself. */
typedef void (*enrol_done_fn)(void *arg, int status, const struct err *why);

struct enrol_params {
    struct evloop *loop;
    const struct agent_settings *settings;
    const char *token_file;          /* read, and removed once it has served */
    const char *token;               /* the token itself, from user data; then no file is touched */
    const struct cloud_facts *facts; /* outlives the enrolment */
    struct identity *identity;
    struct agent_clock *clock;
    enrol_done_fn done;
    void *arg;
};

/* Reads the token and starts asking its URLs in turn. HW_ENOTFOUND: there is no token file.
 * HW_EFORBIDDEN: it is no token, or others can read it. `done` comes once, unless enrol_free comes
 * first. */
int enrol_start(const struct enrol_params *p, struct enrol **out, struct err *e);
/* Also from `done`. */
void enrol_free(struct enrol *n);

/* A crash may have left the file of the token that enrolled us. */
void enrol_remove_used_token(const char *token_file, const struct identity *id);

#endif
