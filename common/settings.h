/*
 * Settings of a program from a table: one row a key. Order: flag > environment (HAWSER_ +
 * upper-case key) > file > default. An unknown key or a wrong value is an error that names its line
 * (or flag, or variable) and key.
 */
#ifndef HAWSER_COMMON_SETTINGS_H
#define HAWSER_COMMON_SETTINGS_H

#include "common/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum settings_type {
    SETTINGS_STR,  /* char *; NULL when unset */
    SETTINGS_LIST, /* struct settings_list; in flags and the environment separated by commas */
    SETTINGS_UINT, /* uint64_t, within min and max */
    SETTINGS_BOOL, /* bool: true or false */
};

struct settings_list {
    char **v;
    size_t n;
};

struct settings_row {
    const char *key; /* snake_case; the flag is --key-with-hyphens */
    enum settings_type type;
    size_t offset;        /* of the field in the program's struct */
    const char *fallback; /* default as a flag's text; NULL: unset (NULL, empty list, 0, false) */
    uint64_t min, max;    /* UINT */
    const char *const *words; /* STR: the only values allowed (NULL-terminated), or NULL */
};

struct settings_flag {
    const char *key, *value; /* value borrowed from argv */
};
#define SETTINGS_FLAGS_MAX 64

/* Takes "--key value" and "--key=value" of the table's rows out of argv ("--" ends); everything
 * else stays, in order. A later flag wins. HW_EINVAL when a value is missing. */
int settings_take_flags(const struct settings_row *rows, size_t n_rows, int *argc, char **argv,
                        struct settings_flag flags[SETTINGS_FLAGS_MAX], size_t *n_flags,
                        struct err *e);

/* Fills *out, whose fields the rows name; it need not be initialised. A missing file is an error
 * only when `file_required`. path may be NULL. On failure *out holds nothing to free. */
int settings_load(const struct settings_row *rows, size_t n_rows, const char *path,
                  bool file_required, const struct settings_flag *flags, size_t n_flags, void *out,
                  struct err *e);
void settings_done(const struct settings_row *rows, size_t n_rows, void *out);

#endif
