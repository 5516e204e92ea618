#include "controller/restored.h"
#include "controller/audit/audit.h"
#include "controller/push/publish.h"
#include "controller/service_user.h"
#include "controller/store/store.h"
#include <limits.h>
#include <stdio.h>

int restored_run(const struct settings *s, struct err *e)
{
    char path[PATH_MAX];
    struct store *store;
    struct db *db;
    int rc = service_user_enter(s->user, s->state_dir, e);
    if (rc)
        return rc;
    if (snprintf(path, sizeof path, "%s/hawser.db", s->state_dir) >= (int)sizeof path)
        return err_set(e, HW_ETOOBIG, "%s: the path is too long", s->state_dir);
    rc = store_open(path, false, &store, e);
    if (rc)
        return rc;
    rc = store_begin(store, STORE_CHANGE, &db, e);
    if (!rc) {
        rc = publish_restored(db, e);
        if (!rc)
            rc = audit_own(db, AUDIT_COMMAND, "restored", NULL, e);
        if (rc)
            store_rollback(db);
        else
            rc = store_commit(db, e);
    }
    store_close(store);
    return rc;
}
