#include "controller/cli/nouns.h"

static const struct column columns[] = {
    COLUMN("REVISION", "revision", TEXT),
    COLUMN("HELD", "held", BOOL),
    COLUMN("REASON", "reason", TEXT),
    COLUMNS_END,
};

static const struct verb verbs[] = {
    {.name = "show",
     .summary = "Shows the global revision, and whether configs are held back",
     .example = "revision show",
     .shows = SHOWS_ROW,
     .method = "GET"},
    {.name = "accept",
     .summary = "Accepts a restored store: every config is signed anew and pushed",
     .example = "revision accept --yes",
     .shows = SHOWS_ROW,
     .method = "POST",
     .suffix = "/accept",
     .confirm = true},
    VERBS_END,
};

const struct noun noun_revision = {
    .name = "revision",
    .title = "Revision: the counter of all writes",
    .path = "/api/v1/revisions",
    .columns = columns,
    .verbs = verbs,
};
