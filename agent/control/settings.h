/* Settings of hawser-agent: flags, HAWSER_*, /etc/hawser/agent.json (docs/protocols.md, "Settings
 * files"). */
#ifndef HAWSER_AGENT_CONTROL_SETTINGS_H
#define HAWSER_AGENT_CONTROL_SETTINGS_H

#include "common/err.h"
#include "common/id.h"
#include "common/log.h"
#include "common/settings.h"
#include <sys/types.h>

#define AGENT_SETTINGS_FILE "/etc/hawser/agent.json"

/* Checked once when loaded, constant afterwards. Strings are NULL where unset and without default.
 */
struct agent_settings {
    char *name;
    char *token_file;
    char *state_dir;
    char *run_dir;
    char *dataplane_socket;
    char *dataplane_user;
    char *site_interface;
    char *underlay_interface;
    char *boot_id_file;
    char *provider;
    char *region;
    char *size;
    char *cloud;   /* auto, none, or a provider whose metadata service is asked */
    char *dmi_dir; /* what the firmware says of the machine */
    struct settings_list public_addresses; /* that others reach this machine at, translated 1:1 */
    char *log_level_name;
    uint64_t confirm_timeout_s;
    uint64_t report_interval_s;
    uint64_t rekey_s;      /* soft lifetime, ± 10 % */
    uint64_t rekey_hard_s; /* hard lifetime */
    /* derived */
    uid_t dataplane_uid; /* of dataplane_user */
    enum log_level log_level;
};

/* Takes the settings' flags out of argv. */
int agent_settings_flags(int *argc, char **argv, struct settings_flag flags[SETTINGS_FLAGS_MAX],
                         size_t *n_flags, struct err *e);
/* `file` NULL: the default file, which may be missing. On failure the text names key and line. */
int agent_settings_load(const char *file, const struct settings_flag *flags, size_t n_flags,
                        struct agent_settings *out, struct err *e);
void agent_settings_done(struct agent_settings *s);

/* The machine's boot id (DESIGN section 4, "Poll"). */
int agent_settings_boot_id(const struct agent_settings *s, struct hw_id *out, struct err *e);
/* STATE_DIR/NAME into a buffer of the caller's; HW_ETOOBIG when it does not fit. */
int agent_path(const char *dir, const char *name, char *out, size_t cap, struct err *e);

#endif
