#include "agent/control/sysctl.h"
#include "agent/control/settings.h"
#include "common/cleanup.h"
#include "common/fsutil.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/strbuf.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAVED_MAX 65536
#define VALUE_MAX 32

/* Which interfaces a row is for. */
enum where { GLOBAL, UNDERLAY_AND_SITE, ALL_OURS };

struct row {
    enum where where;
    const char *path; /* with %s for the interface */
    const char *value;
    const char *only_from; /* NULL, or the one value that is changed */
    bool optional;         /* IPv6 may be off */
};

/*
 * rp_filter: ESP comes from peers' underlay addresses, which table 18551 routes to hawser0; strict
 * mode would drop it. The kernel uses the larger of `all` and the interface's value, and 2 (loose)
 * is the largest. send_redirects is on if `all` or the interface says so, hence both. accept_ra: a
 * forwarding host ignores router advertisements unless it is 2, and would lose a default route that
 * it learned by them.
 */
static const struct row table[] = {
    {ALL_OURS, "net/ipv4/conf/%s/rp_filter", "2", NULL, false},
    {GLOBAL, "net/ipv4/conf/all/send_redirects", "0", NULL, false},
    {ALL_OURS, "net/ipv4/conf/%s/send_redirects", "0", NULL, false},
    {ALL_OURS, "net/ipv4/conf/%s/accept_redirects", "0", NULL, false},
    {ALL_OURS, "net/ipv6/conf/%s/accept_redirects", "0", NULL, true},
    {UNDERLAY_AND_SITE, "net/ipv6/conf/%s/accept_ra", "2", "1", true},
    {GLOBAL, "net/ipv6/conf/all/forwarding", "1", NULL, true},
    {GLOBAL, "net/ipv4/ip_forward", "1", NULL, false},
};
#define N_ROWS (sizeof table / sizeof *table)

static int open_key(const char *key, int flags)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "/proc/sys/%s", key);
    if (n < 0 || (size_t)n >= sizeof path)
        return -1;
    return open(path, flags | O_CLOEXEC);
}

static int read_key(const char *key, char out[VALUE_MAX])
{
    auto_close int fd = open_key(key, O_RDONLY);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, out, VALUE_MAX - 1);
    if (n < 0)
        return -1;
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return 0;
}

static int write_key(const char *key, const char *value)
{
    auto_close int fd = open_key(key, O_WRONLY);
    if (fd < 0)
        return -1;
    size_t len = strlen(value);
    return write(fd, value, len) == (ssize_t)len ? 0 : -1;
}

/* One key to be changed. */
struct change {
    char key[128];
    char old[VALUE_MAX];
    const char *value;
};
#define CHANGES_MAX 64

struct changes {
    struct change list[CHANGES_MAX];
    size_t n;
};

static int add_change(struct changes *c, const struct row *r, const char *interface, struct err *e)
{
    struct change *to = &c->list[c->n];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(to->key, sizeof to->key, r->path, interface);
#pragma GCC diagnostic pop
    if (read_key(to->key, to->old) < 0) {
        if (r->optional && errno == ENOENT)
            return 0;
        return err_errno(e, errno, "read %s", to->key);
    }
    if (strcmp(to->old, r->value) == 0 || (r->only_from && strcmp(to->old, r->only_from) != 0))
        return 0;
    to->value = r->value;
    c->n++;
    return 0;
}

/* What differs from the table, in its order. */
static int find_changes(const struct interface_roles *roles, struct changes *c, struct err *e)
{
    c->n = 0;
    for (size_t i = 0; i < N_ROWS; i++) {
        const char *names[] = {roles->underlay, roles->site, HW_TUN_NAME};
        size_t n = table[i].where == GLOBAL ? 1 : table[i].where == UNDERLAY_AND_SITE ? 2 : 3;
        for (size_t k = 0; k < n; k++) {
            if (k == 1 && strcmp(roles->site, roles->underlay) == 0)
                continue;
            int rc = add_change(c, &table[i], names[k], e);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

static bool is_saved(const char *saved, const char *key)
{
    size_t len = strlen(key);
    for (const char *p = saved; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (strncmp(p, key, len) == 0 && p[len] == ' ')
            return true;
    return false;
}

static bool is_ours(const struct change *c)
{
    return strstr(c->key, "/" HW_TUN_NAME "/") != NULL;
}

/* hawser0 is ours and goes with its values. */
static bool all_saved(const char *saved, const struct changes *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!is_ours(&c->list[i]) && !is_saved(saved, c->list[i].key))
            return false;
    return true;
}

static int write_old(const char *path, const char *begin, const struct changes *c, struct err *e)
{
    struct strbuf b = STRBUF_INIT;
    strbuf_puts(&b, begin);
    for (size_t i = 0; i < c->n; i++)
        if (!is_ours(&c->list[i]) && !is_saved(begin, c->list[i].key))
            strbuf_printf(&b, "%s = %s\n", c->list[i].key, c->list[i].old);
    int rc = b.failed ? err_set(e, HW_ENOMEM, "out of memory")
                      : fsutil_write(path, strbuf_str(&b), b.len, 0600, e);
    strbuf_done(&b);
    return rc;
}

/* Old values go to disk before the first of them is changed. On a full disk those of an earlier
 * boot have to do: a gateway that can't save what it knows already must forward again. */
static int save_old(const char *path, const struct hw_id *boot, const struct changes *c,
                    struct err *e)
{
    char first[ID_TEXT_MAX + 16], text[ID_TEXT_MAX];
    (void)snprintf(first, sizeof first, "# boot %s\n", id_text(boot, text));
    auto_free char *saved = NULL;
    size_t len;
    int rc = fsutil_read(path, SAVED_MAX, &saved, &len, e);
    if (rc < 0 && rc != HW_ENOTFOUND)
        return rc;
    bool same_boot = rc == 0 && strncmp(saved, first, strlen(first)) == 0;
    if (same_boot && all_saved(saved, c))
        return 0;
    struct err why = {0};
    rc = write_old(path, same_boot ? saved : first, c, &why);
    if (rc < 0 && saved && all_saved(saved, c)) {
        log_warn_limited("old sysctl values are those of an earlier boot: %s", why.text);
        return 0;
    }
    if (rc < 0 && e)
        *e = why;
    return rc;
}

int sysctl_apply(const char *state_dir, const struct hw_id *boot,
                 const struct interface_roles *roles, struct err *e)
{
    struct changes c;
    char path[PATH_MAX];
    int rc = find_changes(roles, &c, e);
    if (rc < 0 || c.n == 0)
        return rc;
    if ((rc = agent_path(state_dir, "sysctl.saved", path, sizeof path, e)) < 0 ||
        (rc = save_old(path, boot, &c, e)) < 0)
        return rc;
    for (size_t i = 0; i < c.n; i++) {
        if (write_key(c.list[i].key, c.list[i].value) < 0)
            return err_errno(e, errno, "set %s = %s", c.list[i].key, c.list[i].value);
        log_info("sysctl %s = %s, was %s", c.list[i].key, c.list[i].value, c.list[i].old);
    }
    return 0;
}

static void restore_line(char *line)
{
    char *value = strstr(line, " = ");
    if (line[0] == '#' || !value)
        return;
    *value = '\0';
    value += 3;
    if (write_key(line, value) < 0 && errno != ENOENT)
        log_warn("sysctl %s is not put back to %s: %s", line, value, strerror(errno));
}

int sysctl_restore(const char *state_dir, struct err *e)
{
    char path[PATH_MAX];
    auto_free char *saved = NULL;
    size_t len;
    int rc = agent_path(state_dir, "sysctl.saved", path, sizeof path, e);
    if (rc == 0)
        rc = fsutil_read(path, SAVED_MAX, &saved, &len, e);
    if (rc == HW_ENOTFOUND)
        return 0;
    if (rc < 0)
        return rc;
    /* Newest first: forwarding was set last and goes first. */
    for (;;) {
        char *cut = strrchr(saved, '\n');
        if (!cut)
            break;
        if (cut[1] != '\0')
            restore_line(cut + 1);
        *cut = '\0';
    }
    return fsutil_remove(path, e);
}

void sysctl_prepare_tun(void)
{
    if (!sysctl_has_ipv6())
        return;
    if (write_key("net/ipv6/conf/" HW_TUN_NAME "/disable_ipv6", "0") < 0)
        log_warn("IPv6 stays off on " HW_TUN_NAME ": %s", strerror(errno));
    (void)write_key("net/ipv6/conf/" HW_TUN_NAME "/addr_gen_mode", "1"); /* 1: none */
}

bool sysctl_has_ipv6(void)
{
    return access("/proc/sys/net/ipv6/conf/all", F_OK) == 0;
}

bool sysctl_forwarding(void)
{
    char v4[VALUE_MAX], v6[VALUE_MAX];
    bool four = read_key("net/ipv4/ip_forward", v4) == 0 && strcmp(v4, "1") == 0;
    bool six = read_key("net/ipv6/conf/all/forwarding", v6) < 0 || strcmp(v6, "1") == 0;
    return four && six;
}
