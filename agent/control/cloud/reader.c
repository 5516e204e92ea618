#include "agent/control/cloud/reader.h"
#include "common/clock.h"
#include "common/http_client.h"
#include "common/limits.h"
#include "common/secret.h"
#include <stdio.h>
#include <stdlib.h>

#define DEADLINE_NS (3 * NS_PER_S)
#define CONNECT_NS  (1 * NS_PER_S)

struct cloud_reader {
    struct evloop *loop;
    const struct cloud_provider *provider;
    const char *base; /* address of the service */
    cloud_reader_fn done;
    void *arg;
    struct http_client *client;
    struct ev_timer *step; /* the next request, or the end: from the loop, not inside a callback */
    uint64_t deadline_ns;
    struct cloud_reading reading;
    struct cloud_ask asked;
    bool any; /* an answer came */
    bool over;
    int rc;
    struct err why;
};

static void conclude(struct cloud_reader *r, int rc)
{
    r->rc = rc;
    r->over = true;
    evloop_timer_arm(r->step, 0);
}

static int no_answer(struct cloud_reader *r, const struct http_response *res)
{
    const char *why = res->error[0] ? res->error : http_outcome_name(res->outcome);
    return err_set(&r->why, HW_EAGAIN, "%s%s: %s", r->base, r->asked.path, why);
}

static int take(struct cloud_reader *r, const struct http_response *res)
{
    /* User data of such a size is not ours. */
    if (res->outcome == HTTP_TOO_BIG && r->asked.user_data) {
        r->reading.step++;
        return 0;
    }
    if (res->outcome != HTTP_ANSWERED)
        return no_answer(r, res);
    if (res->status != 200 && !(res->status == 404 && r->asked.may_miss))
        return err_set(&r->why, HW_EFAIL, "%s%s: status %d%s%s", r->base, r->asked.path,
                       res->status, r->asked.refused ? ": " : "",
                       r->asked.refused ? r->asked.refused : "");
    struct cloud_answer a = {.status = res->status,
                             .body = res->body,
                             .len = res->body_len,
                             .flavor = http_response_header(res, "Metadata-Flavor")};
    if (r->provider->take(&r->reading, &a, &r->why) == 0)
        return 0;
    (void)err_wrap(&r->why, "%s%s", r->base, r->asked.path);
    return HW_EFAIL;
}

static void on_answer(void *arg, const struct http_response *res)
{
    struct cloud_reader *r = arg;
    bool v6 = r->base != r->provider->address6 && r->provider->address6 && !r->any;
    int rc = take(r, res);
    r->any = r->any || res->outcome == HTTP_ANSWERED;
    if (rc && v6 && !r->any) {
        r->base = r->provider->address6; /* a machine without IPv4 */
        rc = 0;
    }
    if (rc)
        conclude(r, rc);
    else
        evloop_timer_arm(r->step, 0);
}

static int ask(struct cloud_reader *r, uint64_t left_ns)
{
    char url[CLOUD_PATH_MAX + 64];
    const char *headers[] = {r->asked.header, NULL};
    (void)snprintf(url, sizeof url, "%s%s", r->base, r->asked.path);
    struct http_request q = {.method = r->asked.method,
                             .url = url,
                             .headers = headers,
                             .timeout_ns = left_ns,
                             .connect_timeout_ns = CONNECT_NS,
                             .response_max =
                                 r->asked.user_data ? CLOUD_USER_DATA_MAX : CLOUD_ANSWER_MAX,
                             .secret = true};
    return http_client_start(r->client, &q, on_answer, r, &r->why) ? 0 : HW_EFAIL;
}

static void on_step(void *arg)
{
    struct cloud_reader *r = arg;
    uint64_t now = clock_mono_ns();
    int rc = r->rc;
    bool over = r->over || !r->provider->ask(&r->reading, &r->asked);
    if (!over && now >= r->deadline_ns) {
        rc = err_set(&r->why, HW_EAGAIN, "%s%s: no time left", r->base, r->asked.path);
        over = true;
    }
    if (!over) {
        rc = ask(r, r->deadline_ns - now);
        over = rc != 0;
    }
    if (over)
        r->done(r->arg, rc, &r->reading, &r->why);
}

int cloud_reader_start(struct evloop *loop, const struct cloud_provider *provider,
                       bool want_user_data, cloud_reader_fn done, void *arg,
                       struct cloud_reader **out, struct err *e)
{
    struct http_client_params p = {.trust = HTTP_TRUST_LINK_LOCAL,
                                   .loop = loop,
                                   .mark = HW_MARK,
                                   .user_agent = "hawser-agent/" HAWSER_VERSION};
    struct cloud_reader *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, HW_ENOMEM, "out of memory");
    r->loop = loop;
    r->provider = provider;
    r->base = CLOUD_ADDRESS;
    r->done = done;
    r->arg = arg;
    r->reading.want_user_data = want_user_data;
    r->deadline_ns = clock_mono_ns() + DEADLINE_NS;
    r->step = evloop_timer_add(loop, on_step, r);
    int rc = r->step ? http_client_new(&p, &r->client, e) : err_set(e, HW_ENOMEM, "out of memory");
    if (rc < 0) {
        cloud_reader_free(r);
        return rc;
    }
    evloop_timer_arm(r->step, 0);
    *out = r;
    return 0;
}

void cloud_reader_free(struct cloud_reader *r)
{
    if (!r)
        return;
    http_client_free(r->client);
    if (r->step)
        evloop_timer_remove(r->step);
    cloud_reading_done(&r->reading);
    free(r);
}
