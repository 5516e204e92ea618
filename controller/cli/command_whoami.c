#include "controller/cli/commands.h"

static const struct verb verbs[] = {
    {.name = "",
     .summary = "Shows whose token it is and what it may do",
     .example = "whoami",
     .shows = SHOWS_DETAIL,
     .method = "GET"},
    VERBS_END,
};

const struct noun noun_whoami = {
    .name = "whoami",
    .title = "Whose token it is",
    .path = "/api/v1/whoami",
    .verbs = verbs,
};
