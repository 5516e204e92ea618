/* Commands that are no resource of the API: a noun with one verb without a name of its own. */
#ifndef HAWSER_CONTROLLER_CLI_COMMANDS_H
#define HAWSER_CONTROLLER_CLI_COMMANDS_H

#include "controller/cli/noun.h"

extern const struct noun noun_api, noun_completion, noun_manual, noun_plan, noun_status,
    noun_version, noun_watch, noun_whoami;

#endif
