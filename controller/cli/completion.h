/* The script that completes hawserctl's words in bash, made from the rows. */
#ifndef HAWSER_CONTROLLER_CLI_COMPLETION_H
#define HAWSER_CONTROLLER_CLI_COMPLETION_H

#include "common/strbuf.h"

void completion_bash(struct strbuf *out);

#endif
