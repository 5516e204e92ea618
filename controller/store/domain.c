#include "controller/store/domain.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

int store_domain_all(struct db *db, struct store_domain **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT name, number FROM domains ORDER BY number");
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_domain *d = rows_add(&list, &count, sizeof *d);
        if (!d) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        col_text(&q, d->name, sizeof d->name);
        d->number = (unsigned)col_int(&q);
    }
    stmt_end(&q);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

int store_domain_replace(struct db *db, const struct store_domain *list, size_t n, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM domains");
    int rc = stmt_run(&q, NULL, e);
    for (size_t i = 0; i < n && !rc; i++) {
        q = stmt_get(db, "INSERT INTO domains VALUES (?, ?)");
        stmt_text(&q, list[i].name);
        stmt_int(&q, list[i].number);
        rc = stmt_run(&q, NULL, e);
    }
    return rc;
}
