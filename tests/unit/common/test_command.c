#include "common/model/command.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct err e;

static void test_poll_without_commands(void)
{
    const struct command_poll p = {.config_revision = UINT64_MAX, .denials_revision = 7};
    struct command_poll back;
    size_t len;
    char *text = command_poll_encode(&p, &len);
    CU_ASSERT_STRING_EQUAL(
        text, "{\"config_revision\":18446744073709551615,\"denials_revision\":7,\"commands\":[]}");
    CU_ASSERT_EQUAL_FATAL(command_poll_decode(text, len, &back, &e), HW_OK);
    CU_ASSERT_EQUAL(back.config_revision, UINT64_MAX);
    CU_ASSERT_EQUAL(back.denials_revision, 7);
    CU_ASSERT_EQUAL(back.n_commands, 0);
    free(text);
    CU_ASSERT_EQUAL(command_poll_decode("[]", 2, &back, &e), HW_EINVAL);
}

static struct command sample(enum command_kind kind)
{
    struct command c = command_defaults(kind);
    c.id = id_new();
    c.cancels = id_new();
    c.issued_at = 1000;
    c.expires_at = 1060;
    CU_ASSERT_EQUAL_FATAL(ipaddr_parse("198.51.100.2", &c.target), HW_OK);
    return c;
}

static void test_commands_come_back(void)
{
    static struct command_poll p, back;
    size_t len;
    for (unsigned k = COMMAND_TRACE_PATH; k <= COMMAND_CANCEL; k++)
        p.commands[p.n_commands++] = sample((enum command_kind)k);
    CU_ASSERT_EQUAL_FATAL(ipaddr_parse("10.1.0.1", &p.commands[1].source), HW_OK);
    p.commands[1].size_bytes = 1400;
    p.commands[1].network = COMMAND_OVERLAY;
    char *text = command_poll_encode(&p, &len);
    CU_ASSERT_EQUAL_FATAL(command_poll_decode(text, len, &back, &e), HW_OK);
    CU_ASSERT_EQUAL_FATAL(back.n_commands, 4);
    for (size_t i = 0; i < back.n_commands; i++) {
        const struct command *a = &p.commands[i], *b = &back.commands[i];
        CU_ASSERT_STRING_EQUAL(b->refusal, "");
        CU_ASSERT(id_equal(&a->id, &b->id) && a->kind == b->kind);
        CU_ASSERT_EQUAL(b->expires_at, 1060);
        CU_ASSERT(a->kind == COMMAND_CANCEL ? id_equal(&a->cancels, &b->cancels)
                                            : ipaddr_equal(&a->target, &b->target));
    }
    CU_ASSERT(ipaddr_equal(&back.commands[1].source, &p.commands[1].source));
    CU_ASSERT_EQUAL(back.commands[1].size_bytes, 1400);
    CU_ASSERT_EQUAL(back.commands[1].network, COMMAND_OVERLAY);
    free(text);
}

static int decode_one(const char *kind, const char *params, struct command *out)
{
    static struct command_poll back;
    char text[1024];
    int len = snprintf(text, sizeof text,
                       "{\"config_revision\":1,\"denials_revision\":0,\"commands\":[{\"id\":"
                       "\"6b8a2a0e-8c5f-4e7f-bb0f-0d6a1a4f2f10\",\"kind\":\"%s\",\"issued_at\":1,"
                       "\"expires_at\":2,\"params\":%s}]}",
                       kind, params);
    int rc = command_poll_decode(text, (size_t)len, &back, &e);
    *out = back.commands[0];
    return rc;
}

/* One bad command is told, and keeps its agent from nothing. */
static void test_bad_commands_do_not_spoil_the_poll(void)
{
    struct command c;
    CU_ASSERT_EQUAL(decode_one("format-disk", "{\"now\":true}", &c), HW_OK);
    CU_ASSERT_EQUAL(c.kind, COMMAND_UNKNOWN);
    CU_ASSERT_STRING_EQUAL(c.refusal, "");
#define TCP(target, port, attempts, timeout)                                                       \
    "{\"target\":" target ",\"source\":null,\"network\":\"underlay\",\"port\":" port               \
    ",\"attempts\":" attempts ",\"timeout_ms\":" timeout "}"
    CU_ASSERT_EQUAL(decode_one("tcp-connect", TCP("\"10.2.1.10\"", "443", "1", "100"), &c), HW_OK);
    CU_ASSERT_STRING_EQUAL(c.refusal, "");
    static const char *const bad[] = {
        TCP("\"10.2.1.10\"", "0", "1", "100"),
        TCP("\"10.2.1.10\"", "443", "11", "100"),
        TCP("\"10.2.1.10\"", "443", "1", "99"),
        TCP("\"10.2.1.10\"", "443", "1", "30001"),
        TCP("\"10.2.1.256\"", "443", "1", "100"),
        TCP("null", "443", "1", "100"),
        "{\"target\":\"10.2.1.10\"}",
        "{}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_EQUAL(decode_one("tcp-connect", bad[i], &c), HW_OK);
        CU_ASSERT(c.refusal[0] != '\0');
        CU_ASSERT_EQUAL(c.kind, COMMAND_TCP_CONNECT);
    }
    CU_ASSERT_EQUAL(decode_one("cancel", "[]", &c), HW_EINVAL);
}

static void test_report(void)
{
    struct command_report r = {.sequence = 3, .state = COMMAND_FAILED, .done = 2, .total = 30};
    struct command_report back;
    size_t len;
    (void)snprintf(r.text, sizeof r.text, "hop 2");
    (void)snprintf(r.error_code, sizeof r.error_code, "no-route");
    (void)snprintf(r.error_text, sizeof r.error_text, "No route to 192.0.2.1.");
    r.result = strdup("{\"a\":[1]}");
    char *text = command_report_encode(&r, &len);
    CU_ASSERT_EQUAL_FATAL(command_report_decode(text, len, &back, &e), HW_OK);
    CU_ASSERT_EQUAL(back.sequence, 3);
    CU_ASSERT_EQUAL(back.state, COMMAND_FAILED);
    CU_ASSERT(back.done == 2 && back.total == 30);
    CU_ASSERT_STRING_EQUAL(back.result, "{\"a\":[1]}");
    CU_ASSERT_STRING_EQUAL(back.error_code, "no-route");
    command_report_done(&back);
    free(text);
    static const char *const bad[] = {
        "{}",
        "{\"sequence\":0,\"state\":\"running\",\"progress\":{\"done\":0,\"total\":null,\"text\":"
        "\"\"},\"result\":null,\"error\":null}",
        "{\"sequence\":1,\"state\":\"queued\",\"progress\":{\"done\":0,\"total\":null,\"text\":"
        "\"\"},\"result\":null,\"error\":null}",
        "{\"sequence\":1,\"state\":\"failed\",\"progress\":{\"done\":0,\"total\":null,\"text\":"
        "\"\"},\"result\":null,\"error\":{\"code\":\"whatever\",\"text\":\"\"}}",
        "{\"sequence\":1,\"state\":\"running\",\"progress\":{\"done\":0,\"total\":null,\"text\":"
        "\"\"},\"result\":[],\"error\":null}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_EQUAL(command_report_decode(bad[i], strlen(bad[i]), &back, &e), HW_EINVAL);
}

int main(void)
{
    CU_TestInfo tests[] = {{"poll", test_poll_without_commands},
                           {"commands", test_commands_come_back},
                           {"bad commands", test_bad_commands_do_not_spoil_the_poll},
                           {"report", test_report},
                           CU_TEST_INFO_NULL};
    return suite_run("command", tests);
}
