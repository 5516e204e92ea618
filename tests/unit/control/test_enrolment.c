/* Enrolment against a controller that is not ours (enrol_server.py). */
#include "agent/control/cloud/facts.h"
#include "agent/control/enrol.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "tests/unit/common/pki.h"
#include "tests/unit/control/netns.h"
#include "tests/unit/suite.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], token_file[128];
static struct agent_settings settings;
static struct cloud_facts facts;
static struct identity *id;
static struct agent_clock *trusted;
static struct err e;
static struct {
    pid_t pid;
    int in;
    unsigned port;
} server;

static char *text_of(const char *s)
{
    char *copy = strdup(s);
    if (!copy)
        abort();
    return copy;
}

static void server_up(const char *ca, const char *mode)
{
    int in[2], out[2];
    char line[32] = "";
    if (pipe(in) < 0 || pipe(out) < 0)
        abort();
    server.pid = fork();
    if (server.pid == 0) {
        (void)dup2(in[0], 0);
        (void)dup2(out[1], 1);
        (void)freopen(pki_path("requests"), "w", stderr);
        (void)close(in[1]);
        (void)execl("/usr/bin/python3", "python3", ENROL_SERVER, getenv("D"), ca, mode,
                    (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    server.in = in[1];
    CU_ASSERT(read(out[0], line, sizeof line - 1) > 0);
    server.port = (unsigned)atoi(line);
    (void)close(out[0]);
}

static void server_down(void)
{
    (void)close(server.in);
    (void)waitpid(server.pid, NULL, 0);
}

static size_t requests(const char *word)
{
    char cmd[256];
    (void)snprintf(cmd, sizeof cmd, "grep -c '%s' $D/requests", word);
    return (size_t)atoi(netns_line("%s", cmd));
}

static void write_token(const char *pin_of, mode_t mode, unsigned first_port)
{
    struct enrol_token t = {.urls.n = 0, .n_pins = 1, .id = id_new()};
    struct x509_st *ca = pki_cert(pin_of);
    CU_ASSERT_EQUAL(x509_cert_pin(ca, t.pins[0], NULL), 0);
    x509_cert_free(ca);
    if (first_port)
        (void)snprintf(t.urls.url[t.urls.n++], ENROL_URL_MAX, "https://127.0.0.1:%u", first_port);
    (void)snprintf(t.urls.url[t.urls.n++], ENROL_URL_MAX, "https://127.0.0.1:%u", server.port);
    memset(t.secret, 0x5a, sizeof t.secret);
    char *text = enrol_token_encode(&t);
    CU_ASSERT_EQUAL(fsutil_write(token_file, text, strlen(text), mode, NULL), 0);
    free(text);
}

static void fresh(void)
{
    char cmd[128];
    identity_free(id);
    agent_clock_free(trusted);
    id = NULL;
    trusted = NULL;
    if (dir[0]) {
        (void)snprintf(cmd, sizeof cmd, "rm -rf %s $D/lost", dir);
        CU_ASSERT_EQUAL(pki_shell(cmd), 0);
    }
    (void)snprintf(dir, sizeof dir, "/tmp/hawser-enrol-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    (void)snprintf(token_file, sizeof token_file, "%s/token", dir);
    CU_ASSERT_EQUAL_FATAL(identity_load(dir, &id, &e), 0);
    CU_ASSERT_EQUAL_FATAL(agent_clock_new(dir, &trusted, &e), 0);
}

struct outcome {
    struct evloop *loop;
    int status;
};

static void on_done(void *arg, int status, const struct err *why)
{
    struct outcome *o = arg;
    o->status = status;
    e = *why;
    evloop_stop(o->loop);
}

static int run(void)
{
    struct outcome o = {.status = 1};
    struct enrol *n;
    e = (struct err){0};
    CU_ASSERT_EQUAL_FATAL(evloop_new(&o.loop, NULL), 0);
    struct enrol_params p = {.loop = o.loop,
                             .settings = &settings,
                             .token_file = token_file,
                             .facts = &facts,
                             .identity = id,
                             .clock = trusted,
                             .done = on_done,
                             .arg = &o};
    int rc = enrol_start(&p, &n, &e);
    if (rc == 0) {
        CU_ASSERT_EQUAL(evloop_run(o.loop, NULL), 0);
        enrol_free(n);
        rc = o.status;
    }
    evloop_free(o.loop);
    return rc;
}

static void test_good(void)
{
    char text[ID_TEXT_MAX];
    fresh();
    server_up("ca", "good");
    write_token("ca", 0600, 0);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(identity_enrolled(id));
    CU_ASSERT_STRING_EQUAL(id_text(identity_gateway_id(id), text), PKI_GATEWAY_A);
    CU_ASSERT_STRING_EQUAL(identity_urls(id)->url[0], "https://192.0.2.9:8444");
    CU_ASSERT_NOT_EQUAL(access(token_file, F_OK), 0);
    CU_ASSERT_STRING_EQUAL(agent_clock_source(trusted), "controller");
    CU_ASSERT_EQUAL(requests("\"name\": \"gw-a1\""), 1);
    CU_ASSERT_EQUAL(requests("\"name\": \"u0\", \"role\": \"both\", \"mtu\": 9000"), 1);
    CU_ASSERT_EQUAL(requests("\"address\": \"192.0.2.1\", \"family\": 4, \"scope\": \"public\""),
                    1);
    CU_ASSERT_EQUAL(run(), HW_ENOTFOUND);
    server_down();
}

/* Only the token that enrolled us is known to be used up. */
static void test_used_token_left(void)
{
    char *text;
    size_t len;
    fresh();
    server_up("ca", "good");
    write_token("ca", 0600, 0);
    CU_ASSERT_EQUAL(fsutil_read(token_file, 4096, &text, &len, NULL), 0);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT_EQUAL(fsutil_write(token_file, text, len, 0600, NULL), 0);
    free(text);
    enrol_remove_used_token(token_file, id);
    CU_ASSERT_NOT_EQUAL(access(token_file, F_OK), 0);
    write_token("ca", 0600, 0);
    enrol_remove_used_token(token_file, id);
    CU_ASSERT_EQUAL(access(token_file, F_OK), 0);
    server_down();
}

/* What others can read is no secret; nothing is sent. */
static void test_mode(void)
{
    fresh();
    server_up("ca", "good");
    write_token("ca", 0640, 0);
    CU_ASSERT_EQUAL(run(), HW_EFORBIDDEN);
    CU_ASSERT_EQUAL(requests(""), 0);
    CU_ASSERT_EQUAL(access(token_file, F_OK), 0);
    server_down();
}

static void test_wrong_pin(void)
{
    fresh();
    server_up("ca", "good");
    write_token("other-ca", 0600, 0);
    CU_ASSERT_EQUAL(run(), HW_EAUTH);
    CU_ASSERT_EQUAL(requests("GET"), 1);
    CU_ASSERT_EQUAL(requests("POST"), 0); /* the secret has not left */
    CU_ASSERT(!identity_enrolled(id));
    server_down();
}

/* The right CA's certificate, shown by somebody who has not got its controller's key. */
static void test_impostor(void)
{
    fresh();
    server_up("ca", "impostor");
    write_token("ca", 0600, 0);
    CU_ASSERT_EQUAL(run(), HW_EAGAIN);
    CU_ASSERT_EQUAL(requests("POST"), 0);
    CU_ASSERT(!identity_enrolled(id));
    server_down();
}

static void test_refused(void)
{
    fresh();
    server_up("ca", "refuse");
    write_token("ca", 0600, 0);
    CU_ASSERT_EQUAL(run(), HW_EFORBIDDEN);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "409"));
    CU_ASSERT_EQUAL(access(token_file, F_OK), 0);
    server_down();
}

static void test_busy(void)
{
    fresh();
    server_up("ca", "busy");
    write_token("ca", 0600, 0);
    CU_ASSERT_EQUAL(run(), HW_EAGAIN);
    server_down();
}

/* A lost reply costs nothing: the same key and token again, also after a restart. */
static void test_lost_reply(void)
{
    fresh();
    server_up("ca", "lost");
    write_token("ca", 0600, 0);
    CU_ASSERT_EQUAL(run(), HW_EAGAIN);
    CU_ASSERT_EQUAL(access(token_file, F_OK), 0);
    identity_free(id);
    CU_ASSERT_EQUAL_FATAL(identity_load(dir, &id, &e), 0);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(identity_enrolled(id));
    CU_ASSERT_EQUAL(requests("POST"), 2);
    server_down();
}

/* An address of the token where nobody listens, before one that answers. */
static void test_second_url(void)
{
    fresh();
    server_up("ca", "good");
    write_token("ca", 0600, 1);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(identity_enrolled(id));
    server_down();
}

static void test_no_token(void)
{
    fresh();
    CU_ASSERT_EQUAL(run(), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(fsutil_write(token_file, "hwt1.x\n", 7, 0600, NULL), 0);
    CU_ASSERT_EQUAL(run(), HW_EFORBIDDEN);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"enrols", test_good},
        {"a used token is left", test_used_token_left},
        {"a token that others can read", test_mode},
        {"another CA than the token's", test_wrong_pin},
        {"the right CA in the wrong hands", test_impostor},
        {"the token is refused", test_refused},
        {"the controller is busy", test_busy},
        {"the reply is lost", test_lost_reply},
        {"the second address answers", test_second_url},
        {"no token, a broken one", test_no_token},
        CU_TEST_INFO_NULL,
    };
    netns_enter_or_skip("test_enrolment");
    (void)signal(SIGPIPE, SIG_IGN);
    if (netns_sh("ip link add u0 type veth peer name u1 && ip addr add 192.0.2.1/24 dev u0 && "
                 "ip link set u0 mtu 9000 up") != 0)
        return 2;
    settings = (struct agent_settings){.name = text_of("gw-a1"),
                                       .underlay_interface = text_of("u0"),
                                       .boot_id_file = text_of("/proc/sys/kernel/random/boot_id")};
    pki_up();
    int rc = suite_run("enrolment", tests);
    char cmd[128];
    (void)snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    (void)pki_shell(cmd);
    pki_down();
    identity_free(id);
    agent_clock_free(trusted);
    free(settings.name);
    free(settings.underlay_interface);
    free(settings.boot_id_file);
    return rc;
}
