/* Settings of hawser-agent: /etc/hawser/agent.json, HAWSER_* and flags (docs/protocols.md,
 * "Settings files"). */
#ifndef HAWSER_AGENT_CONTROL_SETTINGS_H
#define HAWSER_AGENT_CONTROL_SETTINGS_H

#include "common/err.h"
#include "common/limits.h"
#include "common/log.h"
#include <limits.h>
#include <net/if.h>
#include <sys/types.h>

#define AGENT_SETTINGS_FILE "/etc/hawser/agent.json"

/* Checked once when loaded, constant afterwards. Empty text means "not set". */
struct agent_settings {
    char name[HW_NAME_MAX + 1];
    char token_file[PATH_MAX];
    char state_dir[PATH_MAX];
    char run_dir[PATH_MAX];
    char dataplane_socket[PATH_MAX];
    char boot_id_file[PATH_MAX];
    uid_t dataplane_uid;
    char site_interface[IFNAMSIZ];
    char underlay_interface[IFNAMSIZ];
    char provider[HW_NAME_MAX + 1];
    char region[HW_NAME_MAX + 1];
    char size[HW_NAME_MAX + 1];
    unsigned confirm_timeout_s;
    unsigned report_interval_s;
    unsigned rekey_s;      /* soft lifetime, ± 10 % */
    unsigned rekey_hard_s; /* hard lifetime */
    enum log_level log_level;
};

/* Defaults, then the file (missing is fine unless `explicit_file`), then the environment. On
 * failure e->field names the key. */
int agent_settings_load(const char *file, int explicit_file, struct agent_settings *out,
                        struct err *e);

/* The machine's boot id as text of at most 63 bytes without white space (DESIGN section 4, "Poll").
 */
int agent_settings_boot_id(const struct agent_settings *s, char out[64], struct err *e);

#endif
