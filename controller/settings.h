/* Settings of the controller: flag > environment > /etc/hawser/controller.json > default. */
#ifndef HAWSER_CONTROLLER_SETTINGS_H
#define HAWSER_CONTROLLER_SETTINGS_H

#include "common/err.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/settings.h"
#include <limits.h>
#include <stdbool.h>

#define SETTINGS_LISTEN_MAX 8
#define SETTINGS_URL_MAX    256

struct settings {
    char listen[SETTINGS_LISTEN_MAX][64];
    size_t n_listen;
    char agent_listen[SETTINGS_LISTEN_MAX][64];
    size_t n_agent_listen;
    char agent_urls[HW_URLS_MAX][SETTINGS_URL_MAX];
    size_t n_agent_urls;
    char state_dir[PATH_MAX - 64];              /* room for a file name behind it */
    char tls_cert[PATH_MAX], tls_key[PATH_MAX]; /* "" : made by bootstrap in state_dir */
    unsigned threads;
    struct prefix overlay_pool4, overlay_pool6; /* family 0: the store's own */
    unsigned poll_seconds;
    unsigned request_seconds; /* from a connection's start, and from a request line, to the end of
                                 the request: whoever is slower is cut */
    unsigned answer_seconds;  /* the same for the answer to be taken */
    char user[64];
    char webui_dir[PATH_MAX]; /* the console's files; "": none */
    unsigned audit_days;      /* 0: audit records are kept for ever */
    enum log_level log_level;
};

/* `path` NULL: the default file, which may be missing. `flags` are those taken out of the command
 * line. The message names line, flag or variable, and key. */
int controller_settings_load(const char *path, const struct settings_flag *flags, size_t n_flags,
                             struct settings *out, struct err *e);

/* Rows of the settings, for taking flags out of the command line. */
extern const struct settings_row controller_settings_rows[];
extern const size_t controller_settings_rows_count;

#endif
