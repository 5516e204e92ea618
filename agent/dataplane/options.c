#include "agent/dataplane/options.h"

#include "common/dp_proto.h"
#include "common/limits.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help_text[] =
    "Usage: hawser-dataplane [OPTION]…\n"
    "Carries packets between TUN and encrypted tunnels, as told by hawser-agent.\n"
    "\n"
    "  --socket PATH       where hawser-agent connects (" DP_SOCKET_DEFAULT ")\n"
    "  --workers N         threads, 1 to 64; 0: one per core (0)\n"
    "  --first-core N      core of worker 0, the others on the next ones (0)\n"
    "  --provider NAME     auto, ipsec-mb or libcrypto (auto)\n"
    "  --agent-uid UID     user that may connect (the own one)\n"
    "  --socket-gid GID    group of the socket\n"
    "  --no-sandbox        run without seccomp and Landlock: tests only\n"
    "  --without FEATURES  use the plain path instead of udp_gso, udp_gro, tun_offload "
    "(comma-separated)\n"
    "  --log-level LEVEL   error, warn, info or debug (info)\n"
    "  --help, --version\n"
    "\n"
    "Example: hawser-dataplane --socket /run/hawser/dataplane.sock --agent-uid 990 --workers 2\n";

const char *options_help(void)
{
    return help_text;
}

static int parse_number(const char *flag, const char *text, unsigned long max, unsigned long *out,
                        struct err *e)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || v > max)
        return err_set(e, HW_EINVAL, "--%s %s: not a number from 0 to %lu", flag, text, max);
    *out = v;
    return 0;
}

static int parse_level(const char *text, enum log_level *out, struct err *e)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (enum log_level)i;
            return 0;
        }
    }
    return err_set(e, HW_EINVAL, "--log-level %s: not error, warn, info or debug", text);
}

static int parse_without(const char *text, struct engine_options *o, struct err *e)
{
    const struct {
        const char *name;
        bool *flag;
    } features[] = {
        {"udp_gso", &o->no_gso}, {"udp_gro", &o->no_gro}, {"tun_offload", &o->no_tun_offload}};
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        bool known = false;
        for (unsigned i = 0; i < 3; i++) {
            if (strlen(features[i].name) == len && memcmp(text, features[i].name, len) == 0)
                known = *features[i].flag = true;
        }
        if (!known)
            return err_set(e, HW_EINVAL, "--without %.*s: no such feature", (int)len, text);
        text += len;
        text += *text == ',' ? 1 : 0;
    }
    return 0;
}

enum {
    OPT_SOCKET = 1,
    OPT_WORKERS,
    OPT_FIRST_CORE,
    OPT_PROVIDER,
    OPT_UID,
    OPT_GID,
    OPT_NO_SANDBOX,
    OPT_WITHOUT,
    OPT_LEVEL,
    OPT_HELP,
    OPT_VERSION
};

static const struct option flags[] = {
    {"socket", required_argument, NULL, OPT_SOCKET},
    {"workers", required_argument, NULL, OPT_WORKERS},
    {"first-core", required_argument, NULL, OPT_FIRST_CORE},
    {"provider", required_argument, NULL, OPT_PROVIDER},
    {"agent-uid", required_argument, NULL, OPT_UID},
    {"socket-gid", required_argument, NULL, OPT_GID},
    {"no-sandbox", no_argument, NULL, OPT_NO_SANDBOX},
    {"without", required_argument, NULL, OPT_WITHOUT},
    {"log-level", required_argument, NULL, OPT_LEVEL},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static int apply(struct options *o, int opt, struct err *e)
{
    unsigned long v = 0;
    int rc = 0;
    switch (opt) {
    case OPT_SOCKET:
        o->socket = optarg;
        break;
    case OPT_WORKERS:
        rc = parse_number("workers", optarg, HW_WORKERS_MAX, &v, e);
        o->engine.workers = (unsigned)v;
        break;
    case OPT_FIRST_CORE:
        rc = parse_number("first-core", optarg, HW_CPUS_MAX - 1, &v, e);
        o->engine.first_core = (unsigned)v;
        break;
    case OPT_PROVIDER:
        o->engine.provider = optarg;
        break;
    case OPT_UID:
        rc = parse_number("agent-uid", optarg, UINT_MAX - 1, &v, e);
        o->agent_uid = (uid_t)v;
        break;
    case OPT_GID:
        rc = parse_number("socket-gid", optarg, UINT_MAX - 1, &v, e);
        o->socket_gid = (gid_t)v;
        break;
    case OPT_NO_SANDBOX:
        o->sandbox = false;
        break;
    case OPT_WITHOUT:
        rc = parse_without(optarg, &o->engine, e);
        break;
    case OPT_LEVEL:
        rc = parse_level(optarg, &o->log_level, e);
        break;
    case OPT_HELP:
        o->help = true;
        break;
    case OPT_VERSION:
        o->version = true;
        break;
    default:
        rc = err_set(e, HW_EINVAL, "unknown flag or missing value; try --help");
        break;
    }
    return rc;
}

int options_parse(struct options *o, int argc, char **argv, struct err *e)
{
    *o = (struct options){.socket = DP_SOCKET_DEFAULT,
                          .agent_uid = geteuid(),
                          .socket_gid = (gid_t)-1,
                          .sandbox = true,
                          .log_level = LOG_LEVEL_INFO,
                          .engine = {.provider = "auto"}};
    opterr = 0;
    optind = 1;
    int opt;
    while ((opt = getopt_long(argc, argv, "", flags, NULL)) != -1) {
        int rc = apply(o, opt, e);
        if (rc != 0)
            return rc;
    }
    return optind == argc ? 0
                          : err_set(e, HW_EINVAL, "%s: takes flags only; try --help", argv[optind]);
}
