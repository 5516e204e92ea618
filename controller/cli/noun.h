/*
 * The command line as tables: a noun is one kind of object of the API with its columns and verbs, a
 * verb has its flags. Parsing, help, completion, the manual and the tests all read these rows. A
 * new resource is a file noun_NAME.c with three tables and a line in nouns.c.
 */
#ifndef HAWSER_CONTROLLER_CLI_NOUN_H
#define HAWSER_CONTROLLER_CLI_NOUN_H

#include "controller/cli/cli.h"

struct noun;
struct verb;
struct args;

enum flag_type {
    FLAG_TEXT,
    FLAG_WORD, /* one of `words` */
    FLAG_UINT,
    FLAG_NUMBER,
    FLAG_BOOL,     /* true or false; alone it is true */
    FLAG_LIST,     /* texts, separated by commas */
    FLAG_REF,      /* name or id of an object of `ref` */
    FLAG_REFS,     /* several of them, separated by commas */
    FLAG_TIME,     /* RFC 3339, or from now on: 24h, 7d */
    FLAG_SINCE,    /* RFC 3339, or so long ago: 24h, 7d; of a query */
    FLAG_DURATION, /* seconds: 90, 30m, 24h, 7d */
    FLAG_FILE,     /* - is standard input */
    FLAG_ETAG,
    FLAG_ENDPOINTS, /* ADDRESS[/private|/public][/unreachable],… */
    FLAG_SWITCH,    /* takes no value; for the verb itself, never sent */
};

struct flag {
    const char *name; /* without the dashes */
    /* Of the body ("liveness.missed", "rules[].name") or the query; NULL: not sent. */
    const char *member;
    enum flag_type type;
    const char *help;
    const char *const *words;
    const struct noun *ref;
};

enum verb_arg {
    ARG_NONE,
    ARG_OBJECT, /* NAME|ID of the noun */
    ARG_WORDS,  /* verb->words of them; the verb reads them itself */
};

enum verb_shows {
    SHOWS_NOTHING, /* but a line that it is done */
    SHOWS_LIST,
    SHOWS_ROW,
    SHOWS_DETAIL,
};

struct verb {
    const char *name;
    const char *summary;
    const char *example; /* what follows "hawserctl " */
    enum verb_arg arg;
    enum verb_shows shows;
    const char *method;           /* of the request; NULL: `run` makes its own */
    const char *suffix;           /* of the path, behind the object's id; or NULL */
    const struct flag *flags;     /* up to a row without a name; or NULL */
    const char *required;         /* names of flags, separated by spaces; or NULL */
    const char *operands;         /* "FROM TO" of ARG_WORDS */
    const struct column *columns; /* instead of the noun's; or NULL */
    /* Makes of a file's body what the API takes; NULL: it is sent as it is. */
    int (*shape)(struct cli *c, char **body);
    bool confirm; /* asks before it */
    bool csv;     /* knows -o csv */
    bool offline; /* talks to nobody */
    /* Instead of the one request that the rows above describe. */
    int (*run)(struct cli *c, const struct noun *n, const struct verb *v, struct args *a);
};

enum cell_kind {
    CELL_TEXT,
    CELL_REF,   /* id of an object of `ref`: its name */
    CELL_LIST,  /* array of texts; the first three of them, unless wide */
    CELL_BOOL,  /* yes or no */
    CELL_STATE, /* in its colour */
    CELL_AGE,   /* of a time: "12 s ago" */
    CELL_LEFT,  /* until a time: "in 23 h" */
    CELL_RATE,  /* bit/s */
    CELL_BYTES,
    CELL_RATIO, /* as per cent */
    CELL_MS,
    CELL_OF,    /* "8 of 8": path and `second` */
    CELL_COUNT, /* elements of an array */
    CELL_TALLY, /* "2 applied, 1 failed": member `second` of an array's objects */
    CELL_SIDE,  /* prefixes and groups of one side of a rule */
    /* What a permission of unencrypted traffic lets through, and how long: "PLAINTEXT for 6 d". */
    CELL_PERMISSION,
    CELL_ACTOR,  /* who did something: a name, or else a kind */
    CELL_OBJECT, /* what it was done to: "site branch" */
};

struct column {
    const char *header;
    const char *path; /* "status.state" */
    enum cell_kind kind;
    bool wide; /* only with -o wide */
    const struct noun *ref;
    const char *second;
};

struct noun {
    const char *name, *title; /* "site", "Networks with their prefixes" */
    const char *path;         /* "/api/v1/sites"; with a parent "/api/v1/rulesets/%s/rules" */
    const struct noun *parent;
    const struct column *columns; /* up to a row without a header */
    const struct verb *verbs;     /* up to a row without a name */
    bool nameless;                /* nothing but its id names an object */
    /* Writes what people call an object into `out`. NULL: its member `name`. */
    int (*label)(struct cli *c, const struct json_at *item, struct strbuf *out);
    bool short_names;   /* the part of a label behind its slash will do */
    const char *member; /* what members with its ids call it; NULL: its name */
};

/*
 * How the rows are written. What a macro does not name is absent: a noun says its columns, flags
 * and fields, and which of the usual verbs it has.
 */
#define FLAG(flag, sends, takes, tells)                                                            \
    {                                                                                              \
        .name = (flag), .member = (sends), .type = FLAG_##takes, .help = (tells)                   \
    }
#define FLAG_WORDS(flag, sends, all, tells)                                                        \
    {                                                                                              \
        .name = (flag), .member = (sends), .type = FLAG_WORD, .help = (tells), .words = (all)      \
    }
#define FLAG_OBJECT(flag, sends, of, tells)                                                        \
    {                                                                                              \
        .name = (flag), .member = (sends), .type = FLAG_REF, .help = (tells), .ref = (of)          \
    }
#define FLAG_OBJECTS(flag, sends, of, tells)                                                       \
    {                                                                                              \
        .name = (flag), .member = (sends), .type = FLAG_REFS, .help = (tells), .ref = (of)         \
    }
#define FLAGS_END                                                                                  \
    {                                                                                              \
        .name = NULL                                                                               \
    }

#define COLUMN(heads, at, as)                                                                      \
    {                                                                                              \
        .header = (heads), .path = (at), .kind = CELL_##as                                         \
    }
#define COLUMN_REF(heads, at, of)                                                                  \
    {                                                                                              \
        .header = (heads), .path = (at), .kind = CELL_REF, .ref = (of)                             \
    }
#define COLUMN_OF(heads, at, all)                                                                  \
    {                                                                                              \
        .header = (heads), .path = (at), .kind = CELL_OF, .second = (all)                          \
    }
#define COLUMN_SIDE(heads, at, of)                                                                 \
    {                                                                                              \
        .header = (heads), .path = (at), .kind = CELL_SIDE, .ref = (of)                            \
    }
#define COLUMN_TALLY(heads, at, each)                                                              \
    {                                                                                              \
        .header = (heads), .path = (at), .kind = CELL_TALLY, .second = (each)                      \
    }
#define WIDE(heads, at, as)                                                                        \
    {                                                                                              \
        .header = (heads), .path = (at), .kind = CELL_##as, .wide = true                           \
    }
#define WIDE_REF(heads, at, of)                                                                    \
    {                                                                                              \
        .header = (heads), .path = (at), .kind = CELL_REF, .wide = true, .ref = (of)               \
    }
#define COLUMNS_END                                                                                \
    {                                                                                              \
        .header = NULL                                                                             \
    }

/* The usual verbs: objects of the noun's path, or one of them. */
#define VERB_LIST(tells, shown, filters)                                                           \
    {                                                                                              \
        .name = "list", .summary = (tells), .example = (shown), .shows = SHOWS_LIST,               \
        .method = "GET", .flags = (filters)                                                        \
    }
#define VERB_SHOW(tells, shown)                                                                    \
    {                                                                                              \
        .name = "show", .summary = (tells), .example = (shown), .arg = ARG_OBJECT,                 \
        .shows = SHOWS_DETAIL, .method = "GET"                                                     \
    }
#define VERB_CREATE(tells, shown, members, needed)                                                 \
    {                                                                                              \
        .name = "create", .summary = (tells), .example = (shown), .shows = SHOWS_ROW,              \
        .method = "POST", .flags = (members), .required = (needed)                                 \
    }
#define VERB_SET(tells, shown, members)                                                            \
    {                                                                                              \
        .name = "set", .summary = (tells), .example = (shown), .arg = ARG_OBJECT,                  \
        .shows = SHOWS_ROW, .method = "PATCH", .flags = (members)                                  \
    }
#define VERB_DELETE(tells, shown, asks)                                                            \
    {                                                                                              \
        .name = "delete", .summary = (tells), .example = (shown), .arg = ARG_OBJECT,               \
        .shows = SHOWS_NOTHING, .method = "DELETE", .confirm = (asks)                              \
    }
/* A list that lies in one object, under the verb's own name. */
#define VERB_PARTS(verb, tells, shown, rows)                                                       \
    {                                                                                              \
        .name = verb, .summary = (tells), .example = (shown), .arg = ARG_OBJECT,                   \
        .shows = SHOWS_LIST, .method = "GET", .suffix = "/" verb, .columns = (rows)                \
    }
#define VERBS_END                                                                                  \
    {                                                                                              \
        .name = NULL                                                                               \
    }

#endif
