/* hawser-controller audit verify: judges the chain of the audit, also while the controller runs. */
#ifndef HAWSER_CONTROLLER_AUDIT_COMMAND_H
#define HAWSER_CONTROLLER_AUDIT_COMMAND_H

#include "common/err.h"
#include "controller/settings.h"
#include "controller/store/audit.h"
#include <stdbool.h>

struct audit_options {
    uint64_t from; /* 0: the oldest */
    bool has_known;
    struct store_audit_head known; /* a head that was kept elsewhere */
};

/* "N" and "N:HASH" of the command line. False: not one. */
bool audit_command_from(const char *text, struct audit_options *out);
bool audit_command_head(const char *text, struct audit_options *out);

/* Prints the verdict. *intact tells it; negative: it could not be judged. */
int audit_command_verify(const struct settings *s, const struct audit_options *o, bool *intact,
                         struct err *e);

#endif
