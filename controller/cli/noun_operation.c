#include "controller/cli/args.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/operation.h"

static const char *const kinds[] = {"trace-path", "ping", "tcp-connect", NULL};
static const char *const states[] = {"queued",    "running", "succeeded", "failed",
                                     "cancelled", "expired", NULL};

static const struct flag filters[] = {
    FLAG_WORDS("kind", "kind", kinds, "only this kind"),
    FLAG_WORDS("state", "state", states, "only those in this state"),
    FLAG_OBJECT("gateway", "gateway_id", &noun_gateway, "only those that this gateway carries out"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("ID", "id", TEXT),           COLUMN("KIND", "kind", TEXT),
    COLUMN("STATE", "state", STATE),    COLUMN_REF("GATEWAY", "gateway_id", &noun_gateway),
    COLUMN("BEGUN", "created_at", AGE), COLUMN("PROGRESS", "progress.text", TEXT),
    WIDE("ERROR", "error.text", TEXT),  COLUMNS_END,
};

static int wait(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    char id[ID_TEXT_MAX];
    (void)v;
    int rc = names_resolve(c, n, NULL, a->operands[0], id);
    return rc ? rc : operation_follow(c, id);
}

static const struct verb verbs[] = {
    VERB_LIST("Lists the operations, the newest first", "operation list --state running", filters),
    VERB_SHOW("Shows an operation with its progress and result",
              "operation show 6b8a2a0e-8c5f-4e7f-bb0f-0d6a1a4f2f10"),
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
    VERBS_END,
};

const struct noun noun_operation = {
    .name = "operation",
    .title = "Operations: long work, with progress and result",
    .path = "/api/v1/operations",
    .columns = columns,
    .verbs = verbs,
    .nameless = true,
};
