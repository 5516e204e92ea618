/*
 * Commands of the controller: each runs once, however often it is delivered, and is reported until
 * the controller has taken the end of it. What has begun stands in STATE_DIR/commands.json before
 * it begins; what an agent's restart cut off is reported as failed.
 */
#ifndef HAWSER_AGENT_CONTROL_COMMANDS_H
#define HAWSER_AGENT_CONTROL_COMMANDS_H

#include "common/err.h"
#include "common/evloop.h"
#include "common/id.h"
#include "common/model/command.h"
#include "common/model/gateway_config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_settings;
struct commands;

struct commands_params {
    struct evloop *loop;
    const char *state_dir;
    const struct agent_settings *settings; /* NULL: none */
    /* The config in force, or NULL. */
    const struct gateway_config *(*config)(void *arg);
    int64_t (*now)(void *arg); /* trusted seconds */
    /* There is something to post: commands_next. */
    void (*post)(void *arg);
    void *arg;
};

int commands_new(const struct commands_params *p, struct commands **out, struct err *e);
void commands_free(struct commands *c);

/* From a poll; known ones are not run again. */
void commands_take(struct commands *c, const struct command *list, size_t n);

/* The next report to be posted: its body (free it) and whose it is. NULL: none; *wait_ns then says
 * after how long there may be one, 0 if nothing is due. */
char *commands_next(struct commands *c, struct hw_id *id, size_t *len, uint64_t *wait_ns);
/* What became of it: an HTTP status, or 0 when the controller was not reached. */
void commands_posted(struct commands *c, const struct hw_id *id, int status);

#endif
