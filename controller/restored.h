/* `hawser-controller restored`: after a backup was put in place, before or after the start. */
#ifndef HAWSER_CONTROLLER_RESTORED_H
#define HAWSER_CONTROLLER_RESTORED_H

#include "common/err.h"
#include "controller/settings.h"

/* As the controller's user (drops to it when started as root). Holds the configs until an admin
 * accepts (push/publish.h). */
int restored_run(const struct settings *s, struct err *e);

#endif
