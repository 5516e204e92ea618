#include "controller/change.h"
#include "controller/app.h"
#include "controller/store/store.h"

int change_begin(struct app *app, struct db **out, struct err *e)
{
    return store_begin(app->store, STORE_CHANGE, out, e);
}

int change_commit(struct app *app, struct db *db, enum publish_cause cause, struct err *e)
{
    struct publish_result result = {0};
    int rc = publish_changes(app, db, cause, &result, e);
    return change_finish(app, db, rc, &result, e);
}

void change_abort(struct db *db)
{
    store_rollback(db);
}

int change_finish(struct app *app, struct db *db, int rc, struct publish_result *result,
                  struct err *e)
{
    if (rc)
        store_rollback(db);
    else
        rc = store_commit(db, e);
    if (!rc)
        publish_wake(app, result);
    publish_result_done(result);
    return rc;
}
