/*
 * Time. Monotonic nanoseconds for everything that waits; trusted wall time for certificates
 * (DESIGN section 3.4); RFC 3339 text for people.
 */
#ifndef HAWSER_COMMON_CLOCK_H
#define HAWSER_COMMON_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_US 1000ull

uint64_t clock_mono_ns(void);
/* Seconds since 1970 by the machine's wall clock. */
int64_t clock_wall_s(void);

#define CLOCK_TEXT_MAX 32
/* "2026-11-30T18:54:37Z"; out[CLOCK_TEXT_MAX]. Returns out. */
char *clock_text(int64_t unix_s, char out[CLOCK_TEXT_MAX]);
/* RFC 3339 UTC ("Z" only) to seconds; HW_EINVAL otherwise. */
int clock_parse(const char *text, int64_t *out);

/*
 * Trusted time: the last authenticated controller time plus monotonic time since. Without one since
 * boot: the wall clock if it lies between the stored time (or the build date) and 400 days after
 * it, else the stored time. Pure; the owner stores and loads `stored_s` and passes both clocks in.
 */
struct trusted_clock {
    int64_t stored_s;      /* newest authenticated time known from disk; 0: none */
    int64_t build_s;       /* floor when nothing is stored */
    bool authenticated;    /* controller time seen since start */
    int64_t auth_s;        /* that time … */
    uint64_t auth_mono_ns; /* … and when it was seen */
};

#define TRUSTED_CLOCK_WINDOW_S (400ll * 86400)
#define TRUSTED_CLOCK_ALARM_S  3600ll

void trusted_clock_init(struct trusted_clock *c, int64_t stored_s, int64_t build_s);
/* Takes an authenticated controller time. False: it lies before the build date or beyond the 400
 * days, so the controller's own clock is broken; following it would make its certificate invalid
 * and shut it out for good. */
bool trusted_clock_set(struct trusted_clock *c, int64_t controller_s, uint64_t mono_ns);
/* Best known time in seconds since 1970. */
int64_t trusted_clock_now(const struct trusted_clock *c, int64_t wall_s, uint64_t mono_ns);
/* wall clock − trusted time, seconds; beyond TRUSTED_CLOCK_ALARM_S either way it is an alarm. */
int64_t trusted_clock_skew(const struct trusted_clock *c, int64_t wall_s, uint64_t mono_ns);

#endif
