/*
 * hawser-dataplane-launch: reads and checks dataplane.json and becomes hawser-dataplane with flags,
 * so that the packet engine links no JSON parser and looks up no names.
 */
#include "common/limits.h"
#include "common/log.h"
#include "common/settings.h"
#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define CONFIG_DEFAULT "/etc/hawser/dataplane.json"
#define PROGRAM        "hawser-dataplane"
#define EXIT_USAGE     2
#define NUMBER_MAX     24

struct settings {
    char *socket;
    uint64_t workers, first_core;
    char *provider, *agent_user, *socket_group, *log_level;
    bool sandbox;
};

static const char *const providers[] = {"auto", "ipsec-mb", "libcrypto", NULL};
static const char *const levels[] = {"error", "warn", "info", "debug", NULL};

#define ROW(field, type, fallback, max, words)                                                     \
    {                                                                                              \
#field, type, offsetof(struct settings, field), fallback, 0, max, words                    \
    }
static const struct settings_row rows[] = {
    ROW(socket, SETTINGS_STR, NULL, 0, NULL),
    ROW(workers, SETTINGS_UINT, "0", 64, NULL),
    ROW(first_core, SETTINGS_UINT, "0", HW_CPUS_MAX - 1, NULL),
    ROW(provider, SETTINGS_STR, "auto", 0, providers),
    ROW(agent_user, SETTINGS_STR, "hawser-agent", 0, NULL),
    ROW(socket_group, SETTINGS_STR, "hawser", 0, NULL),
    ROW(sandbox, SETTINGS_BOOL, "true", 0, NULL),
    ROW(log_level, SETTINGS_STR, "info", 0, levels),
};
#define N_ROWS (sizeof rows / sizeof rows[0])

struct launch {
    const char *config;
    bool config_given, check, help, version;
    char program[PATH_MAX];
    struct settings s;
    /* texts of the flags made out of names */
    char workers[NUMBER_MAX], first_core[NUMBER_MAX], uid[NUMBER_MAX], gid[NUMBER_MAX];
};

static const char help_text[] =
    "Usage: hawser-dataplane-launch [OPTION]…\n"
    "Reads the dataplane's settings and runs hawser-dataplane with them.\n"
    "\n"
    "  --config FILE      settings (" CONFIG_DEFAULT ", which may be missing)\n"
    "  --check-config     check the settings and exit\n"
    "  --version\n"
    "  --dataplane PATH   program to run (beside this one)\n"
    "  --KEY VALUE        a key of the settings: socket, workers, first-core, provider, "
    "agent-user,\n"
    "                     socket-group, sandbox, log-level\n"
    "\n"
    "Example: hawser-dataplane-launch --config /etc/hawser/dataplane.json --check-config\n";

static bool parse_number(const char *text, unsigned long *out)
{
    char *end;
    errno = 0;
    *out = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *out < UINT_MAX;
}

/* A name of the user database, or a number as it stands. */
static int find_user(const char *name, char out[NUMBER_MAX], struct err *e)
{
    unsigned long id;
    const struct passwd *pw = NULL;
    if (!parse_number(name, &id)) {
        pw = getpwnam(name);
        if (!pw)
            return err_set_field(e, HW_EINVAL, "agent_user", "agent_user: no user %s", name);
        id = pw->pw_uid;
    }
    (void)snprintf(out, NUMBER_MAX, "%lu", id);
    return HW_OK;
}

static int find_group(const char *name, char out[NUMBER_MAX], struct err *e)
{
    unsigned long id;
    if (!parse_number(name, &id)) {
        const struct group *gr = getgrnam(name);
        if (!gr)
            return err_set_field(e, HW_EINVAL, "socket_group", "socket_group: no group %s", name);
        id = gr->gr_gid;
    }
    (void)snprintf(out, NUMBER_MAX, "%lu", id);
    return HW_OK;
}

static int resolve(struct launch *l, struct err *e)
{
    (void)snprintf(l->workers, sizeof l->workers, "%llu", (unsigned long long)l->s.workers);
    (void)snprintf(l->first_core, sizeof l->first_core, "%llu",
                   (unsigned long long)l->s.first_core);
    int rc = find_user(l->s.agent_user, l->uid, e);
    return rc ? rc : find_group(l->s.socket_group, l->gid, e);
}

/* The sibling of this very file, whatever name it was called by. */
static int sibling(char out[PATH_MAX], struct err *e)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return err_errno(e, errno, "find own program");
    self[n] = '\0';
    if (snprintf(out, PATH_MAX, "%s/" PROGRAM, dirname(self)) >= PATH_MAX)
        return err_set(e, HW_EFAIL, "path of " PROGRAM " is too long");
    return HW_OK;
}

/* Flags that are not settings. */
static int take_own_flags(struct launch *l, int argc, char **argv, struct err *e)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--help") == 0) {
            l->help = true;
        } else if (strcmp(argv[i], "--version") == 0) {
            l->version = true;
        } else if (strcmp(argv[i], "--check-config") == 0) {
            l->check = true;
        } else if (strcmp(argv[i], "--config") == 0 && value) {
            l->config = value;
            l->config_given = true;
            i++;
        } else if (strcmp(argv[i], "--dataplane") == 0 && value) {
            if (strlen(value) >= sizeof l->program)
                return err_set(e, HW_EINVAL, "--dataplane: path is too long");
            memcpy(l->program, value, strlen(value) + 1);
            i++;
        } else {
            return err_set(e, HW_EINVAL, "%s: unknown flag or missing value; try --help", argv[i]);
        }
    }
    return HW_OK;
}

static int load(struct launch *l, int argc, char **argv, struct err *e)
{
    struct settings_flag flags[SETTINGS_FLAGS_MAX];
    size_t n_flags = 0;
    int rc = settings_take_flags(rows, N_ROWS, &argc, argv, flags, &n_flags, e);
    if (!rc)
        rc = take_own_flags(l, argc, argv, e);
    if (!rc && l->program[0] == '\0')
        rc = sibling(l->program, e);
    if (rc || l->help || l->version)
        return rc;
    rc = settings_load(rows, N_ROWS, l->config, l->config_given, flags, n_flags, &l->s, e);
    return rc ? rc : resolve(l, e);
}

/* Only returns on failure. */
static int become(struct launch *l, struct err *e)
{
    char *argv[18];
    int n = 0;
    argv[n++] = l->program;
    if (l->s.socket) {
        argv[n++] = "--socket";
        argv[n++] = l->s.socket;
    }
    argv[n++] = "--workers";
    argv[n++] = l->workers;
    argv[n++] = "--first-core";
    argv[n++] = l->first_core;
    argv[n++] = "--provider";
    argv[n++] = l->s.provider;
    argv[n++] = "--agent-uid";
    argv[n++] = l->uid;
    argv[n++] = "--socket-gid";
    argv[n++] = l->gid;
    if (!l->s.sandbox)
        argv[n++] = "--no-sandbox";
    argv[n++] = "--log-level";
    argv[n++] = l->s.log_level;
    argv[n] = NULL;
    (void)execv(l->program, argv);
    return err_errno(e, errno, "run %s", l->program);
}

/* The dataplane itself takes this process's place; what comes back is the exit code. */
static int act(struct launch *l, struct err *e)
{
    if (l->help) {
        (void)fputs(help_text, stdout);
        return 0;
    }
    if (l->version) {
        (void)printf(PROGRAM "-launch %s\n", HAWSER_VERSION);
        return 0;
    }
    if (l->check)
        return 0;
    (void)become(l, e);
    log_error("%s", e->text);
    return 1;
}

int main(int argc, char **argv)
{
    struct launch l = {.config = CONFIG_DEFAULT};
    struct err e = {0};
    int code = EXIT_USAGE;
    log_init("dataplane-launch", LOG_LEVEL_INFO);
    if (load(&l, argc, argv, &e))
        log_error("%s", e.text);
    else
        code = act(&l, &e);
    settings_done(rows, N_ROWS, &l.s);
    return code;
}
