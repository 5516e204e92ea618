/*
 * What all resources of the people's API have in common: list, create, get, patch, delete, and
 * actions on one of them, with pages, ETag and If-Match, Idempotency-Key, the transaction, the plan
 * that follows from a change and the answer as a later read would give it. A resource says only
 * what is special about it.
 *
 * To add one ("widgets"):
 *
 *   1. schema/sql/NNNN_widgets.sql: its table, with created_at, updated_at and revision.
 *   2. store/widget.[ch]: struct store_widget {id, …, common} and store_widget_insert, _update,
 *      _get, _list, _delete in the shape of store/site.h.
 *   3. api/widgets.c: the members that its bodies may have; `read` (JSON to row), `put` (row to
 *      JSON), `defaults` and `check` if it needs them; RESOURCE_STORE(widget) for what calls the
 *      store; and one `const struct resource widgets`, declared in api/api.h.
 *   4. api/routes.c: RESOURCE("/widgets", widgets), or single rows where it can't do everything.
 *   5. schema/openapi/{paths,components}: its operations and schemas; the contract tests then judge
 *      every answer by them.
 *
 * A row is one struct of the store, zeroed before it is filled; its callbacks know its type.
 */
#ifndef HAWSER_CONTROLLER_API_RESOURCE_H
#define HAWSER_CONTROLLER_API_RESOURCE_H

#include "common/json.h"
#include "controller/api/body.h"
#include "controller/http/router.h"
#include "controller/store/store.h"

struct resource_context {
    const struct app *app;
    struct db *db;
};

struct resource {
    const char *path;           /* "/api/v1/widgets" */
    const char *const *filters; /* query parameters of the list besides limit and cursor */
    const char *const *members; /* that a creation may have; each array ends with NULL */
    const char *const *changes; /* that a PATCH may have */
    size_t size;                /* of a row */
    size_t id, common;          /* offsets of its struct hw_id and struct store_common */
    size_t key;   /* offset of the text by which lists are ordered; RESOURCE_BY_ID: its id */
    bool planned; /* configs may follow from a change: it is planned as a whole and pushed */

    void (*defaults)(void *row);
    int (*read)(const struct json_at *top, enum body_mode mode, void *row, struct err *e);
    /* Where a row keeps who made it; inside the write transaction. NULL: it doesn't. */
    int (*author)(struct db *db, const struct http_request *req, void *row, struct err *e);
    /* Rules that need the store, inside the write transaction. `old` is NULL for a creation. */
    int (*check)(struct db *db, const void *old, void *row, struct err *e);
    int (*put)(struct json_writer *w, const struct resource_context *c, const void *row,
               struct err *e);

    /* A secret that the answer to the creation alone shows, as this member: made before the row is
     * inserted, which keeps its hash. *text is malloc'ed. A repeated answer (Idempotency-Key) has
     * null instead: the secret is nowhere to be had. NULL for most. */
    const char *secret;
    int (*make_secret)(const struct app *app, void *row, char **text, struct err *e);

    int (*get)(struct db *db, const struct hw_id *id, void *row, struct err *e);
    /* *rows is one malloc'ed array. Reads its filters from the request. */
    int (*list)(struct db *db, const struct http_request *req, const struct store_page *page,
                void **rows, size_t *n, struct err *e);
    int (*insert)(struct db *db, void *row, struct err *e);
    int (*update)(struct db *db, void *row, struct err *e);
    int (*remove)(struct db *db, void *row, struct err *e);
    /* Members that the audit tells of a row before it is deleted, beside those of `put`: what goes
     * with it. NULL: nothing does. */
    int (*lost)(struct json_writer *w, struct db *db, const void *row, struct err *e);
    /* After the commit: what memory keeps of the row that is gone. NULL: nothing. */
    void (*removed)(struct app *app, const struct hw_id *id);
    void (*done)(void *row); /* frees what a row owns; NULL: nothing */
};

#define RESOURCE_BY_ID SIZE_MAX

/* Handlers; the route's `arg` is the resource. */
int resource_list(struct app *, struct http_request *, struct http_response *, struct err *);
int resource_create(struct app *, struct http_request *, struct http_response *, struct err *);
int resource_get(struct app *, struct http_request *, struct http_response *, struct err *);
int resource_patch(struct app *, struct http_request *, struct http_response *, struct err *);
int resource_delete(struct app *, struct http_request *, struct http_response *, struct err *);

/* POST /widgets/{id}/VERB without a body: `act` on the row inside the transaction; answers the
 * object. For a handler of the resource's own. */
int resource_act(struct app *app, struct http_request *req, struct http_response *res,
                 int (*act)(struct db *db, void *row, struct err *e), struct err *e);

/* If-Match against an object's revision; HW_ESTALE. For handlers of a resource's own. */
int resource_match(const struct http_request *req, uint64_t revision, struct err *e);

/* get_NOUN and update_NOUN, insert_NOUN over store/NOUN.h, for the fields of the same name. */
#define RESOURCE_GET(noun)                                                                         \
    static int get_##noun(struct db *db, const struct hw_id *id, void *row, struct err *e)         \
    {                                                                                              \
        return store_##noun##_get(db, id, row, e);                                                 \
    }                                                                                              \
    static int update_##noun(struct db *db, void *row, struct err *e)                              \
    {                                                                                              \
        return store_##noun##_update(db, row, e);                                                  \
    }
#define RESOURCE_STORE(noun)                                                                       \
    RESOURCE_GET(noun)                                                                             \
    static int insert_##noun(struct db *db, void *row, struct err *e)                              \
    {                                                                                              \
        return store_##noun##_insert(db, row, e);                                                  \
    }

#endif
