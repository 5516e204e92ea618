/*
 * What the process gives up before it hears the first byte from outside. Two steps, since some of
 * it belongs to a thread and is inherited, and seccomp is put on all threads at once: sandbox_drop
 * before threads start: capabilities, no_new_privs, no core dumps, Landlock sandbox_seal   when all
 * threads run: the system call filter
 */
#ifndef HAWSER_DATAPLANE_SANDBOX_H
#define HAWSER_DATAPLANE_SANDBOX_H

#include "common/err.h"
#include <stdint.h>

/* *features: DP_FEATURE_LANDLOCK when the kernel has it. */
int sandbox_drop(uint32_t *features, struct err *e);
/* *features: DP_FEATURE_SECCOMP. */
int sandbox_seal(uint32_t *features, struct err *e);

#endif
