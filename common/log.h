/*
 * One line an event on standard error (the journal reads it there), `key=value` tails with stable
 * keys (gw= link= tun= spi= rev=). With HAWSER_LOG_PREFIX=1 in the environment, or when stderr is
 * the journal, lines start with the journal's "<N>" priority. The data path never logs.
 */
#ifndef HAWSER_COMMON_LOG_H
#define HAWSER_COMMON_LOG_H

#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* `component` is kept, not copied: pass a literal such as "agent". */
void log_init(const char *component, enum log_level level);
void log_set_level(enum log_level level);

/* Control characters inside the formatted text are written as \xNN: outside text cannot forge
 * lines. */
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* The same refusal at most once a minute: one static limiter per call site. */
struct log_limit {
    uint64_t next_ns; /* monotonic; lines before it are only counted */
    uint64_t suppressed;
};
/* True when a line may be written now; *suppressed is then the number swallowed since the last one.
 */
int log_limit_pass(struct log_limit *l, uint64_t now_ns, uint64_t *suppressed);
void log_write_limited(struct log_limit *l, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_warn_limited(...)                                                                      \
    do {                                                                                           \
        static struct log_limit log_limit_here_;                                                   \
        log_write_limited(&log_limit_here_, LOG_LEVEL_WARN, __VA_ARGS__);                          \
    } while (0)

#endif
