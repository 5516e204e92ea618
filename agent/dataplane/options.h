/* Command line of hawser-dataplane (docs/protocols.md, "Settings files"). */
#ifndef HAWSER_DATAPLANE_OPTIONS_H
#define HAWSER_DATAPLANE_OPTIONS_H

#include "agent/dataplane/engine.h"
#include "common/err.h"
#include "common/log.h"
#include <stdbool.h>
#include <sys/types.h>

struct options {
    const char *socket;
    uid_t agent_uid;
    gid_t socket_gid; /* −1: leave */
    bool sandbox;
    bool help, version;
    enum log_level log_level;
    struct engine_options engine;
};

/* HW_EINVAL with the flag at fault in the text. Strings stay in argv. */
int options_parse(struct options *o, int argc, char **argv, struct err *e);
const char *options_help(void);

#endif
