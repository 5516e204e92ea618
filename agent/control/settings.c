#include "agent/control/settings.h"
#include "common/cleanup.h"
#include "common/fsutil.h"
#include "common/ipaddr.h"
#include "common/json.h"
#include <ctype.h>
#include <limits.h>
#include <net/if.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_words[] = {"error", "warn", "info", "debug", NULL};
static const char *const cloud_words[] = {"auto", "none", "aws", "azure", "gcp", "oci", NULL};

#define STR(key_, field, fallback_)                                                                \
    {                                                                                              \
        .key = key_, .type = SETTINGS_STR, .offset = offsetof(struct agent_settings, field),       \
        .fallback = fallback_                                                                      \
    }
#define UINT(key_, field, fallback_, min_, max_)                                                   \
    {                                                                                              \
        .key = key_, .type = SETTINGS_UINT, .offset = offsetof(struct agent_settings, field),      \
        .fallback = fallback_, .min = min_, .max = max_                                            \
    }

static const struct settings_row rows[] = {
    STR("name", name, NULL),
    STR("token_file", token_file, "/etc/hawser/token"),
    STR("state_dir", state_dir, "/var/lib/hawser"),
    STR("run_dir", run_dir, "/run/hawser"),
    STR("dataplane_socket", dataplane_socket, "/run/hawser/dataplane.sock"),
    STR("dataplane_user", dataplane_user, "hawser-dataplane"),
    STR("site_interface", site_interface, NULL),
    STR("underlay_interface", underlay_interface, NULL),
    STR("boot_id_file", boot_id_file, "/proc/sys/kernel/random/boot_id"),
    STR("provider", provider, NULL),
    STR("region", region, NULL),
    STR("size", size, NULL),
    STR("dmi_dir", dmi_dir, "/sys/class/dmi/id"),
    {.key = "cloud",
     .type = SETTINGS_STR,
     .offset = offsetof(struct agent_settings, cloud),
     .fallback = "auto",
     .words = cloud_words},
    {.key = "public_addresses",
     .type = SETTINGS_LIST,
     .offset = offsetof(struct agent_settings, public_addresses)},
    UINT("confirm_timeout_seconds", confirm_timeout_s, "60", 1, 3600),
    UINT("report_interval_seconds", report_interval_s, "10", 1, 3600),
    UINT("rekey_seconds", rekey_s, "3600", 10, 86400),
    UINT("rekey_hard_seconds", rekey_hard_s, "28800", 20, 172800),
    {.key = "log_level",
     .type = SETTINGS_STR,
     .offset = offsetof(struct agent_settings, log_level_name),
     .fallback = "info",
     .words = level_words},
};
#define N_ROWS (sizeof rows / sizeof *rows)

int agent_settings_flags(int *argc, char **argv, struct settings_flag flags[SETTINGS_FLAGS_MAX],
                         size_t *n_flags, struct err *e)
{
    return settings_take_flags(rows, N_ROWS, argc, argv, flags, n_flags, e);
}

void agent_settings_done(struct agent_settings *s)
{
    settings_done(rows, N_ROWS, s);
}

/* The host name's first label as a gateway name, or NULL when it makes none. */
static char *host_name(void)
{
    char host[HW_NAME_MAX + 2] = "";
    if (gethostname(host, sizeof host - 1) < 0)
        return NULL;
    host[strcspn(host, ".")] = '\0';
    for (char *p = host; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return json_name_ok(host) ? strdup(host) : NULL;
}

/* A user name, or a numeric uid for machines without such an account. */
static int resolve_user(const char *user, uid_t *out, struct err *e)
{
    char *end;
    unsigned long n = strtoul(user, &end, 10);
    if (isdigit((unsigned char)user[0]) && *end == '\0' && n < UINT32_MAX) {
        *out = (uid_t)n;
        return 0;
    }
    const struct passwd *p = getpwnam(user);
    if (!p)
        return err_set_field(e, HW_EINVAL, "dataplane_user", "dataplane_user: no such user: %s",
                             user);
    *out = p->pw_uid;
    return 0;
}

static int check_name(const char *key, const char *value, struct err *e)
{
    if (value && !json_name_ok(value))
        return err_set_field(e, HW_EINVAL, key,
                             "%s: 1 to %d of a-z, 0-9 and '-', a letter or digit at both ends", key,
                             HW_NAME_MAX);
    return 0;
}

static int check_interface(const char *key, const char *value, struct err *e)
{
    if (value && (value[0] == '\0' || strlen(value) >= IFNAMSIZ || strchr(value, '/') ||
                  strcmp(value, ".") == 0 || strcmp(value, "..") == 0))
        return err_set_field(e, HW_EINVAL, key, "%s: not the name of an interface", key);
    return 0;
}

static int check_path(const char *key, const char *value, struct err *e)
{
    if (value[0] != '/' || strlen(value) > PATH_MAX / 2)
        return err_set_field(e, HW_EINVAL, key, "%s: an absolute path", key);
    return 0;
}

static int check_public(const struct settings_list *list, struct err *e)
{
    if (list->n > HW_ENDPOINTS_MAX / 2)
        return err_set_field(e, HW_EINVAL, "public_addresses", "public_addresses: at most %d",
                             HW_ENDPOINTS_MAX / 2);
    for (size_t i = 0; i < list->n; i++) {
        struct ipaddr a;
        if (ipaddr_parse(list->v[i], &a) < 0 || ipaddr_is_special(&a))
            return err_set_field(e, HW_EINVAL, "public_addresses",
                                 "public_addresses: not a machine's address: %.60s", list->v[i]);
    }
    return 0;
}

static int check(struct agent_settings *s, struct err *e)
{
    int rc;
    if ((rc = check_name("name", s->name, e)) < 0 ||
        (rc = check_name("provider", s->provider, e)) < 0 ||
        (rc = check_name("region", s->region, e)) < 0 ||
        (rc = check_interface("site_interface", s->site_interface, e)) < 0 ||
        (rc = check_interface("underlay_interface", s->underlay_interface, e)) < 0 ||
        (rc = check_path("token_file", s->token_file, e)) < 0 ||
        (rc = check_path("state_dir", s->state_dir, e)) < 0 ||
        (rc = check_path("run_dir", s->run_dir, e)) < 0 ||
        (rc = check_path("dataplane_socket", s->dataplane_socket, e)) < 0 ||
        (rc = check_path("boot_id_file", s->boot_id_file, e)) < 0 ||
        (rc = check_path("dmi_dir", s->dmi_dir, e)) < 0 ||
        (rc = check_public(&s->public_addresses, e)) < 0)
        return rc;
    if (s->size && (s->size[0] == '\0' || strlen(s->size) > HW_NAME_MAX))
        return err_set_field(e, HW_EINVAL, "size", "size: 1 to %d characters", HW_NAME_MAX);
    if (s->rekey_hard_s < s->rekey_s + s->rekey_s / 5)
        return err_set_field(e, HW_EINVAL, "rekey_hard_seconds",
                             "rekey_hard_seconds: at least 1.2 times rekey_seconds");
    return resolve_user(s->dataplane_user, &s->dataplane_uid, e);
}

int agent_settings_load(const char *file, const struct settings_flag *flags, size_t n_flags,
                        struct agent_settings *out, struct err *e)
{
    struct agent_settings s = {0};
    int rc = settings_load(rows, N_ROWS, file ? file : AGENT_SETTINGS_FILE, file != NULL, flags,
                           n_flags, &s, e);
    if (rc < 0)
        return rc;
    if (!s.name)
        s.name = host_name();
    rc = check(&s, e);
    if (rc < 0) {
        agent_settings_done(&s);
        return rc;
    }
    for (unsigned i = 0; level_words[i]; i++)
        if (strcmp(level_words[i], s.log_level_name) == 0)
            s.log_level = (enum log_level)i;
    *out = s;
    return 0;
}

int agent_settings_boot_id(const struct agent_settings *s, struct hw_id *out, struct err *e)
{
    auto_free char *text = NULL;
    size_t len;
    int rc = fsutil_read(s->boot_id_file, 256, &text, &len, e);
    if (rc < 0)
        return rc;
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
    if (id_parse(text, out) < 0)
        return err_set(e, HW_EINVAL, "%s: not a boot id", s->boot_id_file);
    return 0;
}

int agent_path(const char *dir, const char *name, char *out, size_t cap, struct err *e)
{
    int n = snprintf(out, cap, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= cap)
        return err_set(e, HW_ETOOBIG, "%s/%s: path too long", dir, name);
    return 0;
}
