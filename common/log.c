#include "common/log.h"
#include "common/clock.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048
#define LIMIT_NS       (60 * NS_PER_S)

/* Set once by log_init before threads start, apart from the level. */
static const char *the_component = "hawser";
static atomic_int the_level = LOG_LEVEL_INFO;
static int journal; /* lines carry "<N>" and no time of their own */

static const struct {
    const char *name;
    int priority; /* of syslog(3) */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARN] = {"warn", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

/* The journal names the device and inode of the stream that it gave us in JOURNAL_STREAM. */
static int stderr_is_journal(void)
{
    const char *v = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat st;
    return v && sscanf(v, "%llu:%llu", &dev, &ino) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
           st.st_dev == dev && st.st_ino == ino;
}

void log_init(const char *component, enum log_level level)
{
    const char *wanted = getenv("HAWSER_LOG_PREFIX");
    the_component = component;
    journal = (wanted && strcmp(wanted, "1") == 0) || stderr_is_journal();
    log_set_level(level);
}

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&the_level, (int)level, memory_order_relaxed);
}

/* Appends `text` with control characters as \xNN; stops when the line is full. Returns the new
 * length. */
static size_t put_escaped(char *line, size_t used, size_t cap, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p >= 0x20 && *p != 0x7f) {
            if (used + 1 > cap)
                break;
            line[used++] = (char)*p;
        } else {
            if (used + 4 > cap)
                break;
            line[used++] = '\\';
            line[used++] = 'x';
            line[used++] = hex[*p >> 4];
            line[used++] = hex[*p & 15];
        }
    }
    return used;
}

static void write_line(enum log_level level, const char *text)
{
    char line[LINE_MAX_BYTES];
    int n;
    if (journal) {
        n = snprintf(line, sizeof line, "<%d>%s: ", levels[level].priority, the_component);
    } else {
        char now[CLOCK_TEXT_MAX];
        n = snprintf(line, sizeof line, "%s %s %s: ", clock_text(clock_wall_s(), now),
                     the_component, levels[level].name);
    }
    if (n < 0 || (size_t)n >= sizeof line)
        return;
    size_t used = put_escaped(line, (size_t)n, sizeof line - 1, text);
    line[used++] = '\n';
    /* One write, so that lines of several threads never mix; nobody is left to tell if it fails. */
    ssize_t w = write(STDERR_FILENO, line, used);
    (void)w;
}

void log_write(enum log_level level, const char *fmt, ...)
{
    if ((int)level > atomic_load_explicit(&the_level, memory_order_relaxed))
        return;
    char text[LINE_MAX_BYTES];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    write_line(level, text);
}

int log_limit_pass(struct log_limit *l, uint64_t now_ns, uint64_t *suppressed)
{
    if (now_ns < l->next_ns) {
        l->suppressed++;
        return 0;
    }
    *suppressed = l->suppressed;
    l->suppressed = 0;
    l->next_ns = now_ns + LIMIT_NS;
    return 1;
}

/* A call site's limiter is shared by all threads that come by. */
static int pass_locked(struct log_limit *l, uint64_t *suppressed)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int pass = log_limit_pass(l, clock_mono_ns(), suppressed);
    pthread_mutex_unlock(&lock);
    return pass;
}

void log_write_limited(struct log_limit *l, enum log_level level, const char *fmt, ...)
{
    uint64_t suppressed;
    if ((int)level > atomic_load_explicit(&the_level, memory_order_relaxed) ||
        !pass_locked(l, &suppressed))
        return;
    char text[LINE_MAX_BYTES];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (suppressed > 0 && n >= 0 && (size_t)n < sizeof text)
        (void)snprintf(text + n, sizeof text - (size_t)n, " suppressed=%llu",
                       (unsigned long long)suppressed);
    write_line(level, text);
}
