#include "tests/unit/control/sample_config.h"
#include "common/strbuf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hw_id sample_link_id(unsigned i)
{
    char text[ID_TEXT_MAX];
    struct hw_id id;
    (void)snprintf(text, sizeof text, "aaaaaaaa-0000-4000-8000-%012x", i);
    if (id_parse(text, &id) < 0)
        abort();
    return id;
}

static void put_peers(struct strbuf *b, const struct sample *s)
{
    strbuf_puts(b, "\"peers\":[");
    for (unsigned i = 0; i < s->links; i++)
        strbuf_printf(b,
                      "%s{\"gateway_id\":\"bbbbbbbb-0000-4000-8000-%012x\",\"site_id\":"
                      "\"cccccccc-0000-4000-8000-%012x\",\"name\":\"gw-p%u\",\"overlay\":{\"ipv4\":"
                      "\"100.127.1.%u\",\"ipv6\":\"fd00:127::1:%x\"},\"endpoints\":[\"192.0.2.%u\","
                      "\"2001:db8::%x\"]}",
                      i ? "," : "", i, i, i, i + 1, i + 1, 10 + i, 10 + i);
    strbuf_puts(b, "],");
}

static void put_links(struct strbuf *b, const struct sample *s)
{
    strbuf_puts(b, "\"links\":[");
    for (unsigned i = 0; i < s->links; i++)
        strbuf_printf(b,
                      "%s{\"id\":\"aaaaaaaa-0000-4000-8000-%012x\",\"connection_id\":"
                      "\"dddddddd-0000-4000-8000-%012x\",\"kind\":\"attachment\",\"peer_id\":"
                      "\"bbbbbbbb-0000-4000-8000-%012x\",\"enabled\":true,\"tunnels\":%u,"
                      "\"port_offset\":%u,\"local\":\"%s\",\"remote\":\"192.0.2.%u\","
                      "\"remote_port_base\":4510,\"dial\":true,\"peer_dials\":true,\"suites\":"
                      "[\"aes-256-gcm\"],\"liveness\":{\"interval_ms\":%u,\"missed\":3}}",
                      i ? "," : "", i, i, i, s->tunnels ? s->tunnels : 4, (7 * i) % 50,
                      s->local ? s->local : "192.0.2.1", 10 + i,
                      s->interval_ms ? s->interval_ms : 1000);
    strbuf_puts(b, "],");
}

static void put_fib(struct strbuf *b, const struct sample *s)
{
    strbuf_puts(b, "\"fib\":{\"sources\":[{\"prefix\":\"10.1.0.0/16\",\"domain\":1,\"local\":true,"
                   "\"links\":[]}");
    for (unsigned i = 0; i < s->remote_prefixes; i++)
        strbuf_printf(
            b, ",{\"prefix\":\"10.100.%u.0/24\",\"domain\":1,\"local\":false,\"links\":[%u]}", i,
            i % s->links);
    strbuf_puts(b, "],\"routes\":[{\"domain\":1,\"ingress\":\"attachment\",\"prefix\":"
                   "\"10.1.0.0/16\",\"target\":\"local\"}");
    for (unsigned i = 0; i < s->remote_prefixes; i++)
        strbuf_printf(
            b,
            ",{\"domain\":1,\"ingress\":\"site\",\"prefix\":\"10.100.%u.0/24\",\"target\":"
            "\"set\",\"set\":%u}",
            i, i % s->links);
    for (unsigned i = 0; s->transit && i < s->remote_prefixes; i++)
        strbuf_printf(b,
                      ",{\"domain\":1,\"ingress\":\"attachment\",\"prefix\":\"10.100.%u.0/24\","
                      "\"target\":\"set\",\"set\":%u}",
                      i, i % s->links);
    if (s->links)
        strbuf_printf(b, ",{\"domain\":1,\"ingress\":\"site\",\"prefix\":\"fd00:127::1:1/128\","
                         "\"target\":\"set\",\"set\":0}");
    strbuf_puts(b, "],\"sets\":[");
    for (unsigned i = 0; i < s->links; i++)
        strbuf_printf(b, "%s{\"members\":[{\"link\":%u,\"weight\":100}],\"buckets\":[[0,4096]]}",
                      i ? "," : "", i);
    strbuf_puts(b, "]}}");
}

char *sample_json(const struct sample *s)
{
    struct strbuf b = STRBUF_INIT;
    strbuf_printf(
        &b,
        "{\"version\":1,\"gateway\":{\"id\":\"%s\",\"name\":\"gw-a1\",\"site_id\":"
        "\"22222222-2222-4222-8222-222222222222\",\"site_name\":\"site-a\",\"role\":"
        "\"spoke\",\"port_base\":%u,\"overlay\":{\"ipv4\":\"100.127.0.1\",\"ipv6\":\"%s\"},"
        "\"flow_seed\":\"0123456789abcdef\",\"tunnel_seed\":\"fedcba9876543210\"},"
        "\"site_prefixes\":[\"10.1.0.0/16\"],",
        s->gateway ? s->gateway : SAMPLE_GATEWAY, s->port_base ? s->port_base : 4510,
        s->overlay6 ? s->overlay6 : "fd00:127::1");
    put_peers(&b, s);
    put_links(&b, s);
    put_fib(&b, s);
    char *text = strbuf_take(&b);
    if (!text)
        abort();
    return text;
}

struct gateway_config sample_config(const struct sample *s)
{
    struct gateway_config c;
    struct err e = {0};
    char *json = sample_json(s);
    if (gateway_config_decode(json, strlen(json), &c, &e) < 0) {
        (void)fprintf(stderr, "sample config: %s: %s\n", e.field, e.text);
        abort();
    }
    free(json);
    return c;
}
