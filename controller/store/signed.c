#include "controller/store/signed.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

void store_signed_done(struct store_signed *d)
{
    free(d->body);
    free(d->signature);
    free(d->signer);
    *d = (struct store_signed){0};
}

static void bind_doc(struct stmt *q, const struct store_signed *d)
{
    stmt_int(q, (int64_t)d->number);
    stmt_text(q, d->body);
    stmt_blob(q, d->signature, d->signature_len);
    stmt_blob(q, d->signer, d->signer_len);
}

static int read_doc(struct stmt *q, const char *what, struct store_signed *out, struct err *e)
{
    int rc = stmt_one(q, what, e);
    if (rc)
        return rc;
    struct store_signed d = {.number = (uint64_t)col_int(q)};
    d.body = col_blob_dup(q, &d.body_len);
    d.signature = col_blob_dup(q, &d.signature_len);
    d.signer = col_blob_dup(q, &d.signer_len);
    stmt_end(q);
    if (!d.body || !d.signature || !d.signer) {
        store_signed_done(&d);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    *out = d;
    return 0;
}

static int read_number(struct stmt *q, uint64_t *out, struct err *e)
{
    int rc = stmt_row(q, e);
    if (rc < 0)
        return rc;
    *out = rc ? (uint64_t)col_int(q) : 0;
    stmt_end(q);
    return 0;
}

int store_config_put(struct db *db, const struct hw_id *gateway_id, const struct store_signed *d,
                     struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT OR REPLACE INTO gateway_configs VALUES (?, ?, ?, ?, ?)");
    stmt_id(&q, gateway_id);
    bind_doc(&q, d);
    return stmt_run(&q, NULL, e);
}

int store_config_get(struct db *db, const struct hw_id *gateway_id, struct store_signed *out,
                     struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT number, body, signature, signer FROM gateway_configs"
                                 " WHERE gateway_id = ?");
    stmt_id(&q, gateway_id);
    return read_doc(&q, "config", out, e);
}

int store_config_revision(struct db *db, const struct hw_id *gateway_id, uint64_t *out,
                          struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT number FROM gateway_configs WHERE gateway_id = ?");
    stmt_id(&q, gateway_id);
    return read_number(&q, out, e);
}

int store_config_delete(struct db *db, const struct hw_id *gateway_id, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM gateway_configs WHERE gateway_id = ?");
    stmt_id(&q, gateway_id);
    return stmt_run(&q, NULL, e);
}

int store_denials_doc_put(struct db *db, const struct store_signed *d, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT OR REPLACE INTO denials_doc VALUES (1, ?, ?, ?, ?)");
    bind_doc(&q, d);
    return stmt_run(&q, NULL, e);
}

int store_denials_doc_get(struct db *db, struct store_signed *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT number, body, signature, signer FROM denials_doc");
    return read_doc(&q, "denials document", out, e);
}

int store_denials_doc_number(struct db *db, uint64_t *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT number FROM denials_doc");
    return read_number(&q, out, e);
}
