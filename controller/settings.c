#include "controller/settings.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_FILE "/etc/hawser/controller.json"

/* As the common loader fills it; checked and copied into struct settings. */
struct raw {
    struct settings_list listen, agent_listen, agent_urls, overlay_pools;
    char *state_dir, *tls_cert, *tls_key, *user, *webui_dir, *log_level;
    uint64_t threads, poll_seconds, request_seconds, answer_seconds, audit_days;
};

/* In the order of enum log_level. */
static const char *const levels[] = {"error", "warn", "info", "debug", NULL};

#define AT(field) offsetof(struct raw, field)
const struct settings_row controller_settings_rows[] = {
    {"listen", SETTINGS_LIST, AT(listen), "0.0.0.0:8443,[::]:8443", 0, 0, NULL},
    {"agent_listen", SETTINGS_LIST, AT(agent_listen), "0.0.0.0:8444,[::]:8444", 0, 0, NULL},
    {"agent_urls", SETTINGS_LIST, AT(agent_urls), NULL, 0, 0, NULL},
    {"state_dir", SETTINGS_STR, AT(state_dir), "/var/lib/hawser", 0, 0, NULL},
    {"tls_cert", SETTINGS_STR, AT(tls_cert), NULL, 0, 0, NULL},
    {"tls_key", SETTINGS_STR, AT(tls_key), NULL, 0, 0, NULL},
    {"threads", SETTINGS_UINT, AT(threads), "2", 2, 64, NULL},
    {"overlay_pools", SETTINGS_LIST, AT(overlay_pools), NULL, 0, 0, NULL},
    {"poll_seconds", SETTINGS_UINT, AT(poll_seconds), "50", 1, 50, NULL},
    {"request_seconds", SETTINGS_UINT, AT(request_seconds), "20", 2, 600, NULL},
    {"answer_seconds", SETTINGS_UINT, AT(answer_seconds), "120", 2, 600, NULL},
    {"webui_dir", SETTINGS_STR, AT(webui_dir), "/usr/share/hawser/webui", 0, 0, NULL},
    {"audit_days", SETTINGS_UINT, AT(audit_days), "730", 0, 36500, NULL},
    {"user", SETTINGS_STR, AT(user), "hawser-controller", 0, 0, NULL},
    {"log_level", SETTINGS_STR, AT(log_level), "info", 0, 0, levels},
};
const size_t controller_settings_rows_count =
    sizeof controller_settings_rows / sizeof *controller_settings_rows;

static int copy(const char *key, const char *from, char *to, size_t cap, struct err *e)
{
    if (strlen(from ? from : "") >= cap)
        return err_set_field(e, HW_EINVAL, key, "%s: longer than %zu characters", key, cap - 1);
    (void)snprintf(to, cap, "%s", from ? from : "");
    return 0;
}

/* A list of strings into rows of `width` bytes. */
static int copy_list(const char *key, const struct settings_list *from, size_t max, char *to,
                     size_t width, size_t *n, struct err *e)
{
    if (from->n > max)
        return err_set_field(e, HW_EINVAL, key, "%s: more than %zu entries", key, max);
    for (size_t i = 0; i < from->n; i++) {
        int rc = copy(key, from->v[i], to + i * width, width, e);
        if (rc)
            return rc;
    }
    *n = from->n;
    return 0;
}

static int take_pools(const struct settings_list *list, struct settings *out, struct err *e)
{
    for (size_t i = 0; i < list->n; i++) {
        struct prefix p;
        const char *why = NULL;
        if (prefix_parse(list->v[i], &p, &why))
            return err_set_field(e, HW_EINVAL, "overlay_pools", "overlay_pools: %s: %s", list->v[i],
                                 why);
        struct prefix *to = p.addr.family == 4 ? &out->overlay_pool4 : &out->overlay_pool6;
        unsigned host_bits = ipaddr_bits(&p.addr) - p.len;
        if (to->addr.family || p.len < 8 || host_bits < 4)
            return err_set_field(e, HW_EINVAL, "overlay_pools",
                                 "overlay_pools: at most one pool of each family, /8 to /28 or "
                                 "/8 to /124: %s",
                                 list->v[i]);
        *to = p;
    }
    return 0;
}

static int check_urls(const struct settings *s, struct err *e)
{
    for (size_t i = 0; i < s->n_agent_urls; i++) {
        const char *url = s->agent_urls[i];
        if (strncmp(url, "https://", 8) != 0 || !url[8] || strchr(url + 8, '/'))
            return err_set_field(e, HW_EINVAL, "agent_urls",
                                 "agent_urls: not https://HOST:PORT without a path: %s", url);
    }
    return 0;
}

/* Listening on any address says nothing about how gateways reach this machine: its host name and
 * the port of the first listener are the best guess. */
static void default_urls(struct settings *s)
{
    char host[HOST_NAME_MAX + 1] = "localhost";
    const char *port = strrchr(s->agent_listen[0], ':');
    if (s->n_agent_urls || !s->n_agent_listen || !port)
        return;
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(s->agent_urls[0], sizeof s->agent_urls[0], "https://%s%s", host, port);
    s->n_agent_urls = 1;
}

static int take(const struct raw *raw, struct settings *s, struct err *e)
{
    int rc = copy_list("listen", &raw->listen, SETTINGS_LISTEN_MAX, s->listen[0],
                       sizeof s->listen[0], &s->n_listen, e);
    if (!rc)
        rc = copy_list("agent_listen", &raw->agent_listen, SETTINGS_LISTEN_MAX, s->agent_listen[0],
                       sizeof s->agent_listen[0], &s->n_agent_listen, e);
    if (!rc)
        rc = copy_list("agent_urls", &raw->agent_urls, HW_URLS_MAX, s->agent_urls[0],
                       sizeof s->agent_urls[0], &s->n_agent_urls, e);
    if (!rc)
        rc = take_pools(&raw->overlay_pools, s, e);
    if (!rc)
        rc = copy("state_dir", raw->state_dir, s->state_dir, sizeof s->state_dir, e);
    if (!rc)
        rc = copy("tls_cert", raw->tls_cert, s->tls_cert, sizeof s->tls_cert, e);
    if (!rc)
        rc = copy("tls_key", raw->tls_key, s->tls_key, sizeof s->tls_key, e);
    if (!rc)
        rc = copy("user", raw->user, s->user, sizeof s->user, e);
    if (!rc)
        rc = copy("webui_dir", raw->webui_dir, s->webui_dir, sizeof s->webui_dir, e);
    if (!rc && (s->tls_cert[0] == '\0') != (s->tls_key[0] == '\0'))
        rc = err_set_field(e, HW_EINVAL, "tls_key", "tls_cert and tls_key go together");
    if (rc)
        return rc;
    s->threads = (unsigned)raw->threads;
    s->poll_seconds = (unsigned)raw->poll_seconds;
    s->request_seconds = (unsigned)raw->request_seconds;
    s->answer_seconds = (unsigned)raw->answer_seconds;
    s->audit_days = (unsigned)raw->audit_days;
    for (unsigned i = 0; levels[i]; i++)
        if (!strcmp(raw->log_level, levels[i]))
            s->log_level = (enum log_level)i;
    default_urls(s);
    return check_urls(s, e);
}

int controller_settings_load(const char *path, const struct settings_flag *flags, size_t n_flags,
                             struct settings *out, struct err *e)
{
    struct raw raw;
    int rc = settings_load(controller_settings_rows, controller_settings_rows_count,
                           path ? path : DEFAULT_FILE, path != NULL, flags, n_flags, &raw, e);
    if (rc)
        return rc;
    struct settings *s = calloc(1, sizeof *s);
    rc = s ? take(&raw, s, e) : err_set(e, HW_ENOMEM, "out of memory");
    if (!rc)
        *out = *s;
    free(s);
    settings_done(controller_settings_rows, controller_settings_rows_count, &raw);
    return rc;
}
