/* Plans of small fleets, compared line by line with files that people have read (golden/README.md).
 */
#include "common/fsutil.h"
#include "common/json.h"
#include "common/strbuf.h"
#include "tests/unit/controller/fleet_fixture.h"
#include "tests/unit/suite.h"
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

static void put_link(struct strbuf *b, const struct fixture *f, const struct planned_link *l)
{
    static const char *const kinds[] = {"", "attachment", "peering", "bypass"};
    static const char *const states[] = {"ready", "pending", "refused"};
    char id[ID_TEXT_MAX], a[IPADDR_TEXT_MAX], z[IPADDR_TEXT_MAX];
    const char *names[2] = {"?", "?"};
    for (size_t i = 0; i < f->t.n_gateways; i++) {
        if (id_equal(&f->gateways[i].id, &l->gateway_a))
            names[0] = f->gateways[i].name;
        if (id_equal(&f->gateways[i].id, &l->gateway_b))
            names[1] = f->gateways[i].name;
    }
    strbuf_printf(b, "%s %s %s - %s %s%s tunnels=%u (%s) offset=%u %s - %s%s%s\n",
                  id_text(&l->id, id), kinds[l->kind], names[0], names[1], states[l->state],
                  l->enabled ? "" : " disabled", l->tunnels, l->tunnels_reason, l->port_offset,
                  ipaddr_text(&l->address_a, a), ipaddr_text(&l->address_b, z),
                  l->reason[0] ? " " : "", l->reason);
}

static const char *site_name(const struct fixture *f, const struct hw_id *id)
{
    for (size_t i = 0; i < f->t.n_sites; i++)
        if (id_equal(&f->sites[i].id, id))
            return f->sites[i].name;
    return "?";
}

static void put_join(struct strbuf *b, const struct fixture *f, const struct topo_join *j)
{
    strbuf_printf(b, "%s %s %s\n", site_name(f, &j->site_a),
                  j->joined ? "is joined with" : "was joined with", site_name(f, &j->site_b));
}

/* Number of runs and FNV-1a of the text, instead of thousands of runs. */
static void put_buckets(struct strbuf *b, const char *key, struct json_object *v)
{
    const char *text = json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN);
    uint64_t h = 0xcbf29ce484222325ull;
    for (const char *p = text; *p; p++)
        h = (h ^ (uint8_t)*p) * 0x100000001b3ull;
    strbuf_printf(b, "%s: %zu runs, %016llx\n", key, json_object_array_length(v),
                  (unsigned long long)h);
}

/* One element of the config's arrays a line. */
static void put_value(struct strbuf *b, const char *path, struct json_object *v)
{
    char below[200];
    if (json_object_is_type(v, json_type_array) && json_object_array_length(v) &&
        json_object_is_type(json_object_array_get_idx(v, 0), json_type_object)) {
        for (size_t i = 0; i < json_object_array_length(v); i++) {
            (void)snprintf(below, sizeof below, "%s[%zu]", path, i);
            put_value(b, below, json_object_array_get_idx(v, i));
        }
        return;
    }
    struct json_object *buckets;
    if (json_object_is_type(v, json_type_object) &&
        json_object_object_get_ex(v, "buckets", &buckets) &&
        json_object_array_length(buckets) > 1) {
        (void)snprintf(below, sizeof below, "%s.buckets", path);
        put_buckets(b, below, buckets);
        json_object_object_del(v, "buckets");
    }
    strbuf_printf(b, "%s: %s\n", path, json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN));
}

static void put_config(struct strbuf *b, const struct planned_gateway *g)
{
    struct json_object *doc = json_tokener_parse(g->body);
    strbuf_printf(b, "\n== %s\n", g->config.name);
    json_object_object_foreach(doc, key, value)
    {
        if (strcmp(key, "fib") == 0) {
            json_object_object_foreach(value, part, table)
            {
                put_value(b, part, table);
            }
        } else {
            put_value(b, key, value);
        }
    }
    json_object_put(doc);
}

static void compare(const char *name)
{
    char path[300];
    (void)snprintf(path, sizeof path, HAWSER_GOLDEN_DIR "/%s.topology.json", name);
    struct fixture *f = fixture_read(path);
    struct plan p;
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(planner_run(&f->t, &p, &e), 0);
    struct strbuf b = STRBUF_INIT;
    for (size_t i = 0; i < p.n_domains; i++)
        strbuf_printf(&b, "domain %u %s\n", p.domains[i].number, p.domains[i].name);
    for (size_t i = 0; i < p.n_links; i++)
        put_link(&b, f, &p.links[i]);
    for (size_t i = 0; i < p.n_joins; i++)
        put_join(&b, f, &p.joins[i]);
    for (size_t i = 0; i < p.n_gateways; i++)
        put_config(&b, &p.gateways[i]);
    (void)snprintf(path, sizeof path, HAWSER_GOLDEN_DIR "/%s.plan.txt", name);
    if (getenv("HAWSER_GOLDEN_UPDATE")) {
        CU_ASSERT_EQUAL(fsutil_write(path, b.data, b.len, 0644, &e), 0);
    } else {
        char *golden = NULL;
        size_t len = 0;
        CU_ASSERT_EQUAL(fsutil_read(path, 8u << 20, &golden, &len, &e), 0);
        bool same = golden && len == b.len && memcmp(golden, b.data, len) == 0;
        CU_ASSERT_TRUE(same);
        if (!same && golden) {
            size_t at = 0;
            while (at < len && at < b.len && golden[at] == b.data[at])
                at++;
            while (at && golden[at - 1] != '\n')
                at--;
            (void)printf("\n%s differs:\n  golden: %.200s\n  now:    %.200s\n", name, golden + at,
                         b.data + at);
        }
        free(golden);
    }
    strbuf_done(&b);
    plan_done(&p);
    fixture_free(f);
}

static void test_pair(void)
{
    compare("pair");
}
static void test_chain(void)
{
    compare("chain");
}
static void test_two_transits(void)
{
    compare("two-transits");
}
static void test_sizes(void)
{
    compare("sizes");
}
static void test_domains(void)
{
    compare("domains");
}
static void test_states(void)
{
    compare("states");
}
static void test_separated(void)
{
    compare("separated");
}
static void test_nat(void)
{
    compare("nat");
}

int main(void)
{
    CU_TestInfo tests[] = {{"one spoke, one transit, dual-stack", test_pair},
                           {"spoke, transit, spoke", test_chain},
                           {"two peered transits, several gateways a site", test_two_transits},
                           {"domains over one transit", test_domains},
                           {"pending, revoked, disabled, refused", test_states},
                           {"public addresses and translation", test_nat},
                           {"sites that were joined", test_separated},
                           {"numbers of tunnels from sizes", test_sizes},
                           CU_TEST_INFO_NULL};
    return suite_run("golden plans", tests);
}
