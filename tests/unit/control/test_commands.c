/* Each command once: known ones, late ones, cancelled ones, and what a restart cut off. */
#include "agent/control/commands.h"
#include "agent/control/diag/diag.h"
#include "agent/control/diag/prober.h"
#include "common/clock.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct err e;
static struct evloop *loop;
static struct commands *commands;
static char dir[] = "/tmp/hawser-test-commands-XXXXXX";
static unsigned posts;

static const struct gateway_config *no_config(void *arg)
{
    (void)arg;
    return NULL;
}

static int64_t now(void *arg)
{
    (void)arg;
    return 1000;
}

static void on_post(void *arg)
{
    (void)arg;
    posts++;
}

static void open_commands(void)
{
    struct commands_params p = {
        .loop = loop, .state_dir = dir, .config = no_config, .now = now, .post = on_post};
    CU_ASSERT_EQUAL_FATAL(commands_new(&p, &commands, &e), 0);
}

static struct command sample(const char *target)
{
    struct command c = command_defaults(COMMAND_TCP_CONNECT);
    c.id = id_new();
    c.issued_at = 990;
    c.expires_at = 1060;
    c.port = 9;
    CU_ASSERT_EQUAL_FATAL(ipaddr_parse(target, &c.target), 0);
    return c;
}

/* The next report; false when there is none. */
static bool next(struct command_report *r, struct hw_id *id)
{
    size_t len = 0;
    uint64_t wait;
    char *body = commands_next(commands, id, &len, &wait);
    if (!body)
        return false;
    CU_ASSERT_EQUAL(command_report_decode(body, len, r, &e), 0);
    free(body);
    return true;
}

static void expect_end(const struct command *c, enum command_state state, const char *code)
{
    struct command_report r;
    struct hw_id id;
    CU_ASSERT_FATAL(next(&r, &id));
    CU_ASSERT(id_equal(&id, &c->id));
    CU_ASSERT_EQUAL(r.state, state);
    CU_ASSERT_STRING_EQUAL(r.error_code, code);
    command_report_done(&r);
    commands_posted(commands, &id, 204);
}

static void expect_nothing(void)
{
    struct command_report r;
    struct hw_id id;
    CU_ASSERT_FALSE(next(&r, &id));
}

static void test_refusals(void)
{
    static const char *const special[] = {"224.0.0.1", "255.255.255.255", "127.0.0.1", "0.0.0.0",
                                          "fe80::1",   "ff02::1",         "::1"};
    open_commands();
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        struct command c = sample(special[i]);
        commands_take(commands, &c, 1);
        expect_end(&c, COMMAND_FAILED, "refused");
    }
    struct command c = sample("10.2.0.1");
    c.network = COMMAND_OVERLAY;
    commands_take(commands, &c, 1);
    expect_end(&c, COMMAND_FAILED, "no-route");
    c = sample("10.2.0.1");
    c.kind = COMMAND_UNKNOWN;
    commands_take(commands, &c, 1);
    expect_end(&c, COMMAND_FAILED, "unsupported");
    c = sample("10.2.0.1");
    (void)snprintf(c.refusal, sizeof c.refusal, "port: too large");
    commands_take(commands, &c, 1);
    expect_end(&c, COMMAND_FAILED, "not-permitted");
    c = sample("10.2.0.1");
    c.expires_at = 1000;
    commands_take(commands, &c, 1);
    expect_end(&c, COMMAND_EXPIRED, "not-delivered");
    commands_free(commands);
}

static void test_delivered_twice(void)
{
    struct command c = sample("224.0.0.1");
    open_commands();
    commands_take(commands, &c, 1);
    expect_end(&c, COMMAND_FAILED, "refused");
    expect_nothing();
    /* The controller has lost it: it hears the same once more, and nothing runs again. */
    commands_take(commands, &c, 1);
    struct command_report r;
    struct hw_id id;
    CU_ASSERT_FATAL(next(&r, &id));
    CU_ASSERT_EQUAL(r.sequence, 2);
    CU_ASSERT_EQUAL(r.state, COMMAND_FAILED);
    command_report_done(&r);
    commands_posted(commands, &id, 409);
    expect_nothing();
    commands_free(commands);
}

static void test_two_at_once(void)
{
    struct command c[3];
    struct command_report r;
    struct hw_id id;
    open_commands();
    for (size_t i = 0; i < 3; i++)
        c[i] = sample("10.2.0.1");
    commands_take(commands, c, 3);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_FATAL(next(&r, &id));
        CU_ASSERT(id_equal(&id, &c[i].id));
        CU_ASSERT_EQUAL(r.state, COMMAND_RUNNING);
        commands_posted(commands, &id, 204);
    }
    expect_end(&c[2], COMMAND_FAILED, "busy");
    /* A cancel ends the first, and is itself a success. */
    struct command stop = {.id = id_new(), .kind = COMMAND_CANCEL, .cancels = c[0].id};
    stop.expires_at = 1060;
    commands_take(commands, &stop, 1);
    expect_end(&c[0], COMMAND_CANCELLED, "cancelled");
    expect_end(&stop, COMMAND_SUCCEEDED, "");
    /* Also of one that comes only later. */
    struct command late = sample("10.2.0.1");
    struct command early = {.id = id_new(), .kind = COMMAND_CANCEL, .cancels = late.id};
    early.expires_at = 1060;
    commands_take(commands, &early, 1);
    commands_take(commands, &late, 1);
    bool cancelled = false;
    while (next(&r, &id)) {
        CU_ASSERT(r.state == COMMAND_CANCELLED || r.state == COMMAND_SUCCEEDED);
        cancelled = cancelled || id_equal(&id, &late.id);
        command_report_done(&r);
        commands_posted(commands, &id, 204);
    }
    CU_ASSERT(cancelled);
    commands_free(commands);
}

/* c[1] of the test before was under way when its agent ended. */
static void test_restart(void)
{
    struct command_report r;
    struct hw_id id;
    open_commands();
    CU_ASSERT_FATAL(next(&r, &id));
    CU_ASSERT_EQUAL(r.state, COMMAND_FAILED);
    CU_ASSERT_STRING_EQUAL(r.error_code, "internal");
    CU_ASSERT(r.sequence > 1000000);
    struct command again = sample("10.2.0.1");
    again.id = id;
    commands_posted(commands, &id, 0); /* not reached: it will be tried again, later */
    expect_nothing();
    commands_take(commands, &again, 1); /* delivered again: not run */
    expect_nothing();
    commands_free(commands);
    open_commands();
    expect_end(&again, COMMAND_FAILED, "internal");
    commands_free(commands);
    open_commands();
    expect_nothing();
    commands_free(commands);
}

static void test_damaged_file(void)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/commands.json", dir);
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fputs("{\"commands\":[{\"id\":", f);
    (void)fclose(f);
    open_commands();
    expect_nothing();
    commands_free(commands);
    (void)unlink(path);
    (void)rmdir(dir);
}

static void test_budget(void)
{
    struct diag_budget b = {0};
    unsigned sent = 0;
    for (uint64_t at = 0; at < NS_PER_S; at += NS_PER_MS)
        sent += diag_budget_take(&b, at) == 0;
    CU_ASSERT_EQUAL(sent, 100);
}

int main(void)
{
    if (!mkdtemp(dir) || evloop_new(&loop, &e) < 0)
        return 2;
    CU_TestInfo tests[] = {{"refusals", test_refusals},
                           {"delivered twice", test_delivered_twice},
                           {"two at once, cancel", test_two_at_once},
                           {"restart", test_restart},
                           {"damaged file", test_damaged_file},
                           {"budget", test_budget},
                           CU_TEST_INFO_NULL};
    int rc = suite_run("commands", tests);
    evloop_free(loop);
    return rc;
}
