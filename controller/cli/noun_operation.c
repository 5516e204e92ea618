#include "controller/cli/args.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/operation.h"

static const char *const kinds[] = {"trace-path", "ping", "tcp-connect", NULL};
static const char *const states[] = {"queued",    "running", "succeeded", "failed",
                                     "cancelled", "expired", NULL};

static const struct flag filters[] = {
    {"kind", "kind", FLAG_WORD, "only this kind", kinds, NULL},
    {"state", "state", FLAG_WORD, "only those in this state", states, NULL},
    {"gateway", "gateway_id", FLAG_REF, "only those that this gateway carries out", NULL,
     &noun_gateway},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct column columns[] = {
    {"ID", "id", CELL_TEXT, false, NULL, NULL},
    {"KIND", "kind", CELL_TEXT, false, NULL, NULL},
    {"STATE", "state", CELL_STATE, false, NULL, NULL},
    {"GATEWAY", "gateway_id", CELL_REF, false, &noun_gateway, NULL},
    {"BEGUN", "created_at", CELL_AGE, false, NULL, NULL},
    {"PROGRESS", "progress.text", CELL_TEXT, false, NULL, NULL},
    {"ERROR", "error.text", CELL_TEXT, true, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static int wait(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    char id[ID_TEXT_MAX];
    (void)v;
    int rc = names_resolve(c, n, NULL, a->operands[0], id);
    return rc ? rc : operation_follow(c, id);
}

static const struct verb verbs[] = {
    {.name = "list",
     .summary = "Lists the operations, the newest first",
     .example = "operation list --state running",
     .shows = SHOWS_LIST,
     .method = "GET",
     .flags = filters},
    {.name = "show",
     .summary = "Shows an operation with its progress and result",
     .example = "operation show 6b8a2a0e-8c5f-4e7f-bb0f-0d6a1a4f2f10",
     .arg = ARG_OBJECT,
     .shows = SHOWS_DETAIL,
     .method = "GET"},
    {.name = "wait",
     .summary = "Waits for the end of an operation and prints its result",
     .example = "operation wait 6b8a2a0e-8c5f-4e7f-bb0f-0d6a1a4f2f10",
     .arg = ARG_OBJECT,
     .shows = SHOWS_DETAIL,
     .method = "GET",
     .run = wait},
    {.name = "cancel",
     .summary = "Stops an operation; one that is over stays as it is",
     .example = "operation cancel 6b8a2a0e-8c5f-4e7f-bb0f-0d6a1a4f2f10",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "POST",
     .suffix = "/cancel"},
    {.name = NULL},
};

const struct noun noun_operation = {
    .name = "operation",
    .title = "Operations: long work, with progress and result",
    .path = "/api/v1/operations",
    .columns = columns,
    .verbs = verbs,
    .nameless = true,
};
