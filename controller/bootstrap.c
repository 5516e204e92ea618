#include "controller/bootstrap.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "common/secret.h"
#include "controller/audit/audit.h"
#include "controller/auth/bearer.h"
#include "controller/ca/ca.h"
#include "controller/service_user.h"
#include "controller/store/api_key.h"
#include "controller/store/overlay_pools.h"
#include "controller/web_names.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void in_state_dir(const struct settings *s, const char *name, char out[PATH_MAX])
{
    (void)snprintf(out, PATH_MAX, "%s/%s", s->state_dir, name);
}

/* The token is made last, so a store with one says that an earlier bootstrap went to its end. */
static int was_done(struct store *store, bool *out, struct err *e)
{
    struct db *db;
    unsigned keys = 0;
    int rc = store_read(store, &db, e);
    if (rc)
        return rc;
    rc = store_api_key_count(db, &keys, e);
    store_read_end(db);
    *out = keys > 0;
    return rc;
}

static int make_certificates(const struct settings *s, const struct bootstrap_options *o,
                             struct err *e)
{
    struct web_names names = {0};
    int64_t now = clock_wall_s();
    int rc = ca_create(s->state_dir, now, e);
    if (rc == HW_ECONFLICT) /* an interrupted bootstrap came this far; a CA is never replaced */
        rc = 0;
    if (rc || s->tls_cert[0])
        return rc;
    rc = web_names_collect(s, o->urls, o->n_urls, &names, e);
    return rc ? rc : ca_create_web(s->state_dir, names.list, names.n, now, e);
}

static int make_token(const struct settings *s, struct store *store, char token[BEARER_TEXT_MAX],
                      struct err *e)
{
    const struct prefix pools[OVERLAY_POOLS] = {s->overlay_pool4, s->overlay_pool6};
    struct store_api_key key = {.id = id_new(), .name = BEARER_BOOTSTRAP, .role = API_KEY_ADMIN};
    struct db *db;
    int rc = store_begin(store, STORE_CHANGE, &db, e);
    if (rc)
        return rc;
    rc = store_overlay_pools_set(db, pools, e);
    if (!rc)
        rc = store_api_key_delete_by_name(db, key.name, e);
    if (!rc)
        rc = bearer_make(&key, token, e);
    if (!rc)
        rc = store_api_key_insert(db, &key, e);
    if (!rc)
        rc = audit_own(db, AUDIT_COMMAND, "bootstrap", NULL, e);
    if (!rc)
        return store_commit(db, e);
    store_rollback(db);
    return rc;
}

static int print_result(const struct settings *s, const struct bootstrap_options *o,
                        const struct ca *ca, const char *token, struct err *e)
{
    printf("admin token:            %s\n", token);
    printf("gateway CA fingerprint: sha256:%s\n", ca_pin(ca));
    if (!s->tls_cert[0])
        printf("web CA certificate:     %s/web-ca.pem\n", s->state_dir);
    for (size_t i = 0; i < o->n_urls; i++)
        printf("url:                    %s\n", o->urls[i]);
    printf("The token is shown this once. It is a Bearer credential of role admin.\n");
    return fflush(stdout) ? err_errno(e, errno, "write the result") : 0;
}

static int make_all(const struct settings *s, const struct bootstrap_options *o,
                    struct store *store, struct err *e)
{
    char token[BEARER_TEXT_MAX];
    struct ca *ca = NULL;
    bool done = false;
    int rc = was_done(store, &done, e);
    if (!rc && done && !o->new_admin_token)
        rc = err_set(e, HW_ECONFLICT,
                     "%s is bootstrapped already; --new-admin-token replaces the admin token alone",
                     s->state_dir);
    if (!rc && !done && o->new_admin_token)
        rc = err_set(e, HW_EFAIL, "there is no token to replace: run bootstrap without this flag");
    if (!rc && !done)
        rc = make_certificates(s, o, e);
    if (!rc)
        rc = ca_open(s->state_dir, clock_wall_s(), &ca, e);
    if (!rc)
        rc = make_token(s, store, token, e);
    if (!rc)
        rc = print_result(s, o, ca, token, e);
    secret_wipe(token, sizeof token);
    ca_free(ca);
    return rc;
}

/* One at a time: of two first runs the second finds that it was done. The lock goes with its file
 * descriptor, at the latest when the process ends. */
static int lock_state_dir(const char *dir, int *out, struct err *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, errno, "open %s", dir);
    while (flock(fd, LOCK_EX)) {
        if (errno != EINTR) {
            int saved = errno;
            (void)close(fd);
            return err_errno(e, saved, "lock %s", dir);
        }
    }
    *out = fd;
    return 0;
}

int bootstrap_run(const struct settings *s, const struct bootstrap_options *o, struct err *e)
{
    char path[PATH_MAX];
    struct store *store;
    int rc = service_user_enter(s->user, s->state_dir, e);
    auto_close int lock = -1;
    if (!rc)
        rc = fsutil_mkdir(s->state_dir, 0700, e);
    if (!rc)
        rc = lock_state_dir(s->state_dir, &lock, e);
    if (rc)
        return rc;
    in_state_dir(s, "hawser.db", path);
    rc = store_open(path, !o->new_admin_token, &store, e);
    if (rc)
        return rc;
    rc = make_all(s, o, store, e);
    store_close(store);
    return rc;
}
