/* Operations: long work that people ask for, and the commands to agents that it consists of. */
#ifndef HAWSER_CONTROLLER_STORE_OPERATION_H
#define HAWSER_CONTROLLER_STORE_OPERATION_H

#include "common/id.h"
#include "common/limits.h"
#include "controller/store/store.h"

enum operation_state {
    OPERATION_QUEUED,
    OPERATION_RUNNING,
    OPERATION_SUCCEEDED,
    OPERATION_FAILED,
    OPERATION_CANCELLED,
    OPERATION_EXPIRED,
};
#define OPERATION_KIND_MAX  16
#define OPERATION_CODE_MAX  32
#define OPERATION_STEPS_MAX 4 /* outward, back, and a cancel for each */

const char *operation_state_name(enum operation_state s);
/* Negative for an unknown name. */
int operation_state_by_name(const char *name);
static inline bool operation_over(enum operation_state s)
{
    return s >= OPERATION_SUCCEEDED;
}

struct store_operation {
    struct hw_id id;
    int64_t number; /* given by insert; the order of lists */
    char kind[OPERATION_KIND_MAX];
    enum operation_state state;
    struct hw_id gateway_id;
    char *request, *result; /* JSON; owned; result may be NULL */
    char error_code[OPERATION_CODE_MAX], error_text[HW_TEXT_MAX + 1];
    int64_t cancelled_at; /* 0: nobody asked */
    struct hw_id created_by;
    int64_t created_at, started_at, finished_at, expires_at;
};

/* One command to one agent. */
struct store_step {
    struct hw_id id; /* the command's */
    struct hw_id operation_id;
    unsigned position;
    char name[OPERATION_KIND_MAX]; /* outward, back, run; cancel */
    struct hw_id gateway_id;
    enum operation_state state;
    char *params; /* JSON; owned */
    uint64_t sequence;
    unsigned done, total;
    char progress[HW_TEXT_MAX + 1];
    char *result; /* JSON; owned; may be NULL */
    char error_code[OPERATION_CODE_MAX], error_text[HW_TEXT_MAX + 1];
    int64_t started_at, reported_at, finished_at;
};

void store_operation_done(struct store_operation *o);
void store_operation_free(struct store_operation *list, size_t n);
void store_step_done(struct store_step *s);
void store_step_free(struct store_step *list, size_t n);

int store_operation_insert(struct db *db, struct store_operation *o, struct err *e);
int store_operation_update(struct db *db, const struct store_operation *o, struct err *e);
int store_operation_get(struct db *db, const struct hw_id *id, struct store_operation *out,
                        struct err *e);

struct operation_filter {
    const char *kind;               /* NULL: any */
    int state;                      /* negative: any */
    const struct hw_id *gateway_id; /* NULL: any */
    bool open;                      /* only those that are not over */
};
/* Newest first, without results; a page's key is the number as decimal text. */
int store_operation_list(struct db *db, const struct store_page *page,
                         const struct operation_filter *filter, struct store_operation **out,
                         size_t *n, struct err *e);
/* Removes what ended before `before`, and the oldest beyond `keep`. */
int store_operation_expire(struct db *db, int64_t before, unsigned keep, struct err *e);

int store_step_insert(struct db *db, const struct store_step *s, struct err *e);
int store_step_update(struct db *db, const struct store_step *s, struct err *e);
int store_step_get(struct db *db, const struct hw_id *id, struct store_step *out, struct err *e);
/* In their order. */
int store_step_list(struct db *db, const struct hw_id *operation_id, struct store_step **out,
                    size_t *n, struct err *e);
/* A gateway's that are not over, oldest first; without results. */
int store_step_open(struct db *db, const struct hw_id *gateway_id, struct store_step **out,
                    size_t *n, struct err *e);

#endif
