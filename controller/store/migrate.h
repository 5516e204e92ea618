/* Brings a store to the newest schema: schema/sql/NNNN_topic.sql in order, one transaction each,
 * number in user_version. */
#ifndef HAWSER_CONTROLLER_STORE_MIGRATE_H
#define HAWSER_CONTROLLER_STORE_MIGRATE_H

#include "common/err.h"
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

struct migration {
    int number;
    const char *name;
    const unsigned char *sql; /* followed by a NUL */
};

/* Every file of schema/sql, in order; made by the build. */
extern const struct migration migrations[];
extern const size_t migrations_count;

/* A file without any schema: new, or emptied by something else. */
int migrate_is_empty(sqlite3 *sq, bool *out, struct err *e);
/* Refuses a store of a newer program; changes nothing. */
int migrate_is_known(sqlite3 *sq, struct err *e);
/* A store of a newer program is refused rather than guessed at. */
int migrate(sqlite3 *sq, struct err *e);

#endif
