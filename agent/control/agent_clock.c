#include "agent/control/agent_clock.h"
#include "agent/control/settings.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "common/log.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define SAVE_EVERY_S 600

struct agent_clock {
    struct trusted_clock clock;
    int64_t saved_s; /* what stands on disk */
    char path[PATH_MAX];
};

/* When this program was built: no certificate of ours can be older. */
static int64_t build_time(void)
{
    return HAWSER_BUILD_TIME;
}

static int64_t parse_stored(const char *text)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno || end == text || (*end != '\n' && *end != '\0') || v <= 0)
        return 0;
    return v;
}

int agent_clock_new(const char *state_dir, struct agent_clock **out, struct err *e)
{
    struct agent_clock *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = agent_path(state_dir, "clock", c->path, sizeof c->path, e);
    if (rc < 0) {
        free(c);
        return rc;
    }
    auto_free char *text = NULL;
    size_t len;
    struct err why = {0};
    rc = fsutil_read(c->path, 64, &text, &len, &why);
    if (rc == 0)
        c->saved_s = parse_stored(text);
    if ((rc < 0 && rc != HW_ENOTFOUND) || (rc == 0 && c->saved_s == 0))
        log_warn("stored time is not readable, going on without file=%s %s", c->path, why.text);
    trusted_clock_init(&c->clock, c->saved_s, build_time());
    *out = c;
    return 0;
}

void agent_clock_free(struct agent_clock *c)
{
    free(c);
}

int64_t agent_clock_now(const struct agent_clock *c)
{
    return trusted_clock_now(&c->clock, clock_wall_s(), clock_mono_ns());
}

int64_t agent_clock_skew(const struct agent_clock *c)
{
    return trusted_clock_skew(&c->clock, clock_wall_s(), clock_mono_ns());
}

const char *agent_clock_source(const struct agent_clock *c)
{
    if (c->clock.authenticated)
        return "controller";
    return agent_clock_skew(c) == 0 ? "wall" : "stored";
}

bool agent_clock_from_controller(const struct agent_clock *c)
{
    return c->clock.authenticated;
}

bool agent_clock_trusted(const struct agent_clock *c)
{
    return c->clock.authenticated || agent_clock_skew(c) == 0;
}

/* A failure to write costs nothing now; the next one tries again. */
static void save(struct agent_clock *c, int64_t now)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%" PRId64 "\n", now);
    struct err e = {0};
    if (fsutil_write(c->path, text, (size_t)n, 0600, &e) < 0)
        log_warn_limited("time is not stored: %s", e.text);
    else
        c->saved_s = now;
}

void agent_clock_set(struct agent_clock *c, int64_t controller_s)
{
    if (!trusted_clock_set(&c->clock, controller_s, clock_mono_ns())) {
        char text[CLOCK_TEXT_MAX];
        log_warn_limited("the controller's clock is not followed, it says %s",
                         clock_text(controller_s, text));
        return;
    }
    int64_t now = agent_clock_now(c);
    if (now >= c->saved_s + SAVE_EVERY_S)
        save(c, now);
}
