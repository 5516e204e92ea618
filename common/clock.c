#include "common/clock.h"
#include "common/err.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_S 86400ll

uint64_t clock_mono_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

int64_t clock_wall_s(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec;
}

/*
 * Calendar arithmetic of the proleptic Gregorian calendar, in eras of 400 years (146,097 days) that
 * start on 1 March, so that the leap day is the last of its year. Not gmtime_r: the C library opens
 * the time zone file there, which the dataplane's sandbox forbids.
 */
static int64_t days_from_date(int64_t y, unsigned m, unsigned d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static void date_from_days(int64_t days, int64_t *y, unsigned *m, unsigned *d)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *d = (unsigned)(doy - (153 * mp + 2) / 5 + 1);
    *m = (unsigned)(mp < 10 ? mp + 3 : mp - 9);
    *y = yoe + era * 400 + (*m <= 2);
}

char *clock_text(int64_t unix_s, char out[CLOCK_TEXT_MAX])
{
    /* Years 0 to 9999 are what RFC 3339 can write; anything else is clamped. */
    const int64_t lowest = -62167219200ll, highest = 253402300799ll;
    if (unix_s < lowest)
        unix_s = lowest;
    if (unix_s > highest)
        unix_s = highest;
    int64_t days = unix_s / DAY_S, s = unix_s % DAY_S, y;
    if (s < 0) {
        s += DAY_S;
        days--;
    }
    unsigned m, d;
    date_from_days(days, &y, &m, &d);
    (void)snprintf(out, CLOCK_TEXT_MAX, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)y % 10000u,
                   m % 100u, d % 100u, (unsigned)(s / 3600) % 100u, (unsigned)(s / 60) % 60u,
                   (unsigned)s % 60u);
    return out;
}

/* Reads exactly n digits at *p and moves it on; −1 when there are others. */
static int take_digits(const char **p, unsigned n)
{
    int v = 0;
    while (n-- > 0) {
        if (**p < '0' || **p > '9')
            return -1;
        v = v * 10 + (*(*p)++ - '0');
    }
    return v;
}

static unsigned days_of_month(int y, unsigned m)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return m == 2 && leap ? 29u : days[m - 1];
}

/* A fraction of a second is accepted and dropped; the leap second 60 is taken as the second after.
 */
int clock_parse(const char *text, int64_t *out)
{
    static const char seps[] = {'-', '-', 'T', ':', ':', '\0'};
    int part[6];
    if (!text)
        return HW_EINVAL;
    for (unsigned i = 0; i < 6; i++) {
        part[i] = take_digits(&text, i == 0 ? 4 : 2);
        if (part[i] < 0)
            return HW_EINVAL;
        if (seps[i] && *text++ != seps[i])
            return HW_EINVAL;
    }
    if (*text == '.') {
        text++;
        if (take_digits(&text, 1) < 0)
            return HW_EINVAL;
        text += strspn(text, "0123456789");
    }
    if (strcmp(text, "Z") != 0 || part[1] < 1 || part[1] > 12 || part[2] < 1 ||
        (unsigned)part[2] > days_of_month(part[0], (unsigned)part[1]) || part[3] > 23 ||
        part[4] > 59 || part[5] > 60)
        return HW_EINVAL;
    *out = days_from_date(part[0], (unsigned)part[1], (unsigned)part[2]) * DAY_S + part[3] * 3600 +
           part[4] * 60 + part[5];
    return HW_OK;
}

void trusted_clock_init(struct trusted_clock *c, int64_t stored_s, int64_t build_s)
{
    *c = (struct trusted_clock){.stored_s = stored_s, .build_s = build_s};
}

static int64_t floor_of(const struct trusted_clock *c)
{
    return c->stored_s > 0 ? c->stored_s : c->build_s;
}

bool trusted_clock_set(struct trusted_clock *c, int64_t controller_s, uint64_t mono_ns)
{
    if (controller_s < c->build_s || controller_s > floor_of(c) + TRUSTED_CLOCK_WINDOW_S)
        return false;
    c->authenticated = true;
    c->auth_s = controller_s;
    c->auth_mono_ns = mono_ns;
    if (controller_s > c->stored_s)
        c->stored_s = controller_s;
    return true;
}

int64_t trusted_clock_now(const struct trusted_clock *c, int64_t wall_s, uint64_t mono_ns)
{
    if (c->authenticated) {
        uint64_t since = mono_ns > c->auth_mono_ns ? mono_ns - c->auth_mono_ns : 0;
        return c->auth_s + (int64_t)(since / NS_PER_S);
    }
    int64_t floor_s = floor_of(c);
    if (wall_s >= floor_s && wall_s <= floor_s + TRUSTED_CLOCK_WINDOW_S)
        return wall_s;
    return floor_s;
}

int64_t trusted_clock_skew(const struct trusted_clock *c, int64_t wall_s, uint64_t mono_ns)
{
    return wall_s - trusted_clock_now(c, wall_s, mono_ns);
}
