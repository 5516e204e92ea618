#include "common/json.h"
#include "tests/unit/suite.h"
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct err e;

/* Parses a copy in a block of exactly its size, so that ASan sees any look beyond the end. */
static int parse_n(const char *text, size_t len, struct json_object **out)
{
    char *copy = malloc(len ? len : 1);
    memcpy(copy, text, len);
    e = (struct err){0};
    int rc = json_parse(copy, len, 1000, out, &e);
    free(copy);
    return rc;
}

static int parse(const char *text, struct json_object **out)
{
    return parse_n(text, strlen(text), out);
}

static void pass(const char *text)
{
    struct json_object *doc = NULL;
    if (parse(text, &doc) != HW_OK)
        (void)fprintf(stderr, "refused: %s: %s\n", text, e.text);
    CU_ASSERT_EQUAL(e.code, HW_OK);
    json_free(doc);
}

static void refuse(const char *text)
{
    struct json_object *doc = NULL;
    if (parse(text, &doc) == HW_OK)
        (void)fprintf(stderr, "accepted: %s\n", text);
    CU_ASSERT(e.code == HW_EINVAL && e.text[0] != '\0');
    json_free(doc);
}

static void test_accepted(void)
{
    static const char *const good[] = {
        "null",
        "true",
        "0",
        "-0",
        "-1.5e-3",
        "1E+9",
        "\"\"",
        " [ ] ",
        "{}",
        "\t{\r\n\"a\" : [1 , 2] }\n",
        "[9223372036854775807,-9223372036854775808,18446744073709551615]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"",
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\"",
        "{\"a\":{\"a\":1},\"b\":{\"a\":1}}",
        "{\"\":1}",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        pass(good[i]);
}

static void test_refused(void)
{
    static const char *const bad[] = {
        "",
        " ",
        "nul",
        "nullx",
        "True",
        "NaN",
        "Infinity",
        "-",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "0x10",
        "9223372036854775808888",
        "-9223372036854775809",
        "18446744073709551616",
        "[1,]",
        "[1 2]",
        "[",
        "]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1 \"b\":2}",
        "{1:2}",
        "{} {}",
        "{}x",
        "// c\n{}",
        "{/* c */}",
        "\"a",
        "\"\n\"",
        "\"\x01\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\\ud800\\n\"",
        "\"\\ud800\\ud800\"",
        "\"\\udc00\"",
        "\"\xc3\"",
        "\"\xc3(\"",
        "\"\xc0\xaf\"",
        "\"\xe0\x80\xaf\"",
        "\"\xed\xa0\x80\"",
        "\"\xf0\x80\x80\x80\"",
        "\"\xf4\x90\x80\x80\"",
        "\"\xf8\x88\x80\x80\x80\"",
        "\"\x80\"",
        "\xef\xbb\xbf{}",
    };
    struct json_object *doc;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse(bad[i]);
    CU_ASSERT_EQUAL(parse_n("{}\0", 3, &doc), HW_EINVAL);
    CU_ASSERT_EQUAL(parse_n("\"a\0b\"", 5, &doc), HW_EINVAL);
}

static void test_place_of_error(void)
{
    refuse("{\n  \"\xc3\xa9\": tru\n}");
    CU_ASSERT_STRING_EQUAL(e.text, "line 2, column 8: a value is expected");
}

static void test_twice(void)
{
    refuse("{\"a\":1,\"a\":2}");
    CU_ASSERT_STRING_EQUAL(e.field, "");
    refuse("{\"a\":1,\"\\u0061\":2}"); /* the same name, written otherwise */
    refuse("[{\"x\":[{}, {\"q\":{\"z\":1},\"b\":0,\"q\":{\"z\":1}}]}]");
    CU_ASSERT_STRING_EQUAL(e.field, "[0].x[1]");
    CU_ASSERT_STRING_EQUAL(e.text, "a member stands twice");
}

static void test_depth_and_size(void)
{
    char text[2 * HW_JSON_DEPTH_MAX + 4] = "";
    struct json_object *doc;
    memset(text, '[', HW_JSON_DEPTH_MAX);
    memset(text + HW_JSON_DEPTH_MAX, ']', HW_JSON_DEPTH_MAX);
    pass(text);
    memset(text, '[', HW_JSON_DEPTH_MAX + 1);
    memset(text + HW_JSON_DEPTH_MAX + 1, ']', HW_JSON_DEPTH_MAX + 1);
    refuse(text);
    static char longer[1002];
    memset(longer, ' ', 1001);
    longer[0] = '1';
    CU_ASSERT_EQUAL(parse_n(longer, 1000, &doc), HW_OK);
    json_free(doc);
    CU_ASSERT_EQUAL(parse_n(longer, 1001, &doc), HW_ETOOBIG);
}

static struct json_object *doc_of(const char *text)
{
    struct json_object *doc = NULL;
    CU_ASSERT_EQUAL_FATAL(parse(text, &doc), HW_OK);
    return doc;
}

static void test_members(void)
{
    static const char *const members[] = {"a", "b", NULL};
    struct json_object *doc = doc_of("{\"a\":null,\"c\":{\"b\":[0,{\"d\":1}]}}");
    struct json_at top = json_root(doc), c, b, el;
    size_t n;
    CU_ASSERT_EQUAL(json_members(&top, members, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "c");
    CU_ASSERT_EQUAL(json_presence(&top, "a"), JSON_NULL);
    CU_ASSERT_EQUAL(json_presence(&top, "b"), JSON_ABSENT);
    CU_ASSERT_EQUAL(json_presence(&top, "c"), JSON_SET);
    CU_ASSERT_FALSE(json_has(&top, "a"));
    CU_ASSERT_EQUAL(json_get_object(&top, "c", &c, &e), HW_OK);
    CU_ASSERT_EQUAL(json_members(&c, members, &e), HW_OK);
    CU_ASSERT_EQUAL(json_get_array(&c, "b", 1, &b, &n, &e), HW_EINVAL);
    CU_ASSERT_EQUAL_FATAL(json_get_array(&c, "b", 2, &b, &n, &e), HW_OK);
    CU_ASSERT_EQUAL(n, 2);
    el = json_element(&b, 1);
    CU_ASSERT_EQUAL(json_refuse(&el, &e, "is %s", "odd"), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "c.b[1]");
    CU_ASSERT_STRING_EQUAL(e.text, "is odd");
    CU_ASSERT_EQUAL(json_get_object(&el, "missing", &c, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "c.b[1].missing");
    CU_ASSERT_STRING_EQUAL(e.text, "is missing");
    el = json_element(&b, 2);
    CU_ASSERT_PTR_NULL(el.value);
    el = json_element(&top, 0);
    CU_ASSERT_PTR_NULL(el.value);
    CU_ASSERT_EQUAL(json_length(&top), 0);
    CU_ASSERT_EQUAL(json_members(&el, members, &e), HW_EINVAL);
    json_free(doc);
}

static int note_member(void *arg, const struct json_at *m, struct err *err)
{
    char *keys = arg;
    (void)strcat(keys, m->key);
    return strcmp(m->key, "c") == 0 ? json_refuse(m, err, "stop") : HW_OK;
}

static void test_each_member(void)
{
    struct json_object *doc = doc_of("{\"b\":1,\"a\":2,\"c\":[1,2],\"d\":3}");
    struct json_at top = json_root(doc), c;
    char keys[8] = "";
    size_t n = 0;
    CU_ASSERT_EQUAL(json_each_member(&top, note_member, keys, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(keys, "bac");
    CU_ASSERT_STRING_EQUAL(e.field, "c");
    CU_ASSERT_EQUAL(json_member(&top, "c", &c, &e), HW_OK);
    CU_ASSERT_EQUAL(json_each_member(&c, note_member, keys, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_as_array(&c, 1, &n, &e), HW_EINVAL);
    CU_ASSERT(json_as_array(&c, 2, &n, &e) == HW_OK && n == 2);
    CU_ASSERT_EQUAL(json_as_array(&top, 9, &n, &e), HW_EINVAL);
    json_free(doc);
}

static void test_long_path(void)
{
    char text[400], key[130];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    (void)snprintf(text, sizeof text, "{\"%s\":{\"%s\":1}}", key, key);
    struct json_object *doc = doc_of(text);
    struct json_at top = json_root(doc), a, b;
    CU_ASSERT_EQUAL(json_get_object(&top, key, &a, &e), HW_OK);
    CU_ASSERT_EQUAL(json_get_object(&a, key, &b, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(strlen(e.field), ERR_FIELD_MAX - 1);
    json_free(doc);
}

static void test_integers(void)
{
    struct json_object *doc =
        doc_of("{\"neg\":-1,\"max\":18446744073709551615,\"imax\":9223372036854775807,"
               "\"imin\":-9223372036854775808,\"real\":1.0,\"text\":\"1\",\"n\":5}");
    struct json_at top = json_root(doc);
    uint64_t u = 7;
    int64_t i = 7;
    uint32_t u32 = 7;
    uint16_t u16 = 7;
    CU_ASSERT_EQUAL(json_get_uint(&top, "neg", 0, UINT64_MAX, &u, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_uint(&top, "imin", 0, UINT64_MAX, &u, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_uint(&top, "real", 0, UINT64_MAX, &u, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_uint(&top, "text", 0, UINT64_MAX, &u, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_uint(&top, "n", 6, 9, &u, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_uint(&top, "n", 1, 4, &u, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.text, "must be from 1 to 4");
    CU_ASSERT_EQUAL(u, 7);
    CU_ASSERT_EQUAL(json_get_uint(&top, "max", 0, UINT64_MAX, &u, &e), HW_OK);
    CU_ASSERT_EQUAL(u, UINT64_MAX);
    CU_ASSERT_EQUAL(json_get_int(&top, "max", INT64_MIN, INT64_MAX, &i, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_int(&top, "imax", INT64_MIN, INT64_MAX, &i, &e), HW_OK);
    CU_ASSERT_EQUAL(i, INT64_MAX);
    CU_ASSERT_EQUAL(json_get_int(&top, "imin", INT64_MIN, INT64_MAX, &i, &e), HW_OK);
    CU_ASSERT_EQUAL(i, INT64_MIN);
    CU_ASSERT_EQUAL(json_get_u32(&top, "imax", 0, UINT32_MAX, &u32, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_u32(&top, "n", 5, 5, &u32, &e), HW_OK);
    CU_ASSERT_EQUAL(json_get_u16(&top, "n", 5, 5, &u16, &e), HW_OK);
    CU_ASSERT(u32 == 5 && u16 == 5);
    json_free(doc);
}

static void test_other_types(void)
{
    static const char *const words[] = {"one", "two", NULL};
    struct json_object *doc = doc_of(
        "{\"b\":true,\"d\":0.25,\"i\":3,\"s\":\"two\",\"name\":\"gw-a1\",\"bad\":\"-x\",\"null\":"
        "null,"
        "\"id\":\"00112233-4455-4677-8899-aabbccddeeff\",\"ip\":\"fd00::1\",\"net\":\"10.0.0.0/8\","
        "\"host\":\"10.0.0.1/8\",\"big\":1e999}");
    struct json_at top = json_root(doc);
    bool b = false;
    double d = 0;
    unsigned w = 9;
    const char *s;
    char name[HW_NAME_MAX + 1], text[4];
    struct hw_id id;
    struct ipaddr ip;
    struct prefix net;
    CU_ASSERT(json_get_bool(&top, "b", &b, &e) == HW_OK && b);
    CU_ASSERT_EQUAL(json_get_bool(&top, "i", &b, &e), HW_EINVAL);
    CU_ASSERT(json_get_double(&top, "d", 0, 1, &d, &e) == HW_OK && d > 0.24 && d < 0.26);
    CU_ASSERT(json_get_double(&top, "i", 0, 9, &d, &e) == HW_OK && d > 2.9);
    CU_ASSERT_EQUAL(json_get_double(&top, "i", 0, 1, &d, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_double(&top, "big", 0, HUGE_VAL, &d, &e), HW_EINVAL);
    CU_ASSERT(json_get_enum(&top, "s", words, &w, &e) == HW_OK && w == 1);
    CU_ASSERT_EQUAL(json_get_enum(&top, "name", words, &w, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.text, "must be one of: one, two");
    CU_ASSERT_EQUAL(json_get_name(&top, "name", name, &e), HW_OK);
    CU_ASSERT_STRING_EQUAL(name, "gw-a1");
    CU_ASSERT_EQUAL(json_get_name(&top, "bad", name, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_text(&top, "s", text, sizeof text, &e), HW_OK);
    CU_ASSERT_STRING_EQUAL(text, "two");
    CU_ASSERT_EQUAL(json_get_text(&top, "name", text, sizeof text, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_str(&top, "null", 9, &s, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(json_get_id(&top, "id", &id, &e), HW_OK);
    CU_ASSERT_EQUAL(json_get_id(&top, "s", &id, &e), HW_EINVAL);
    CU_ASSERT(json_get_ip(&top, "ip", &ip, &e) == HW_OK && ip.family == 6);
    CU_ASSERT_EQUAL(json_get_ip(&top, "net", &ip, &e), HW_EINVAL);
    CU_ASSERT(json_get_prefix(&top, "net", &net, &e) == HW_OK && net.len == 8);
    CU_ASSERT_EQUAL(json_get_prefix(&top, "host", &net, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "host");
    CU_ASSERT_STRING_EQUAL(e.text, "host bits are set");
    json_free(doc);
}

static void test_names(void)
{
    CU_ASSERT_TRUE(json_name_ok("a"));
    CU_ASSERT_TRUE(json_name_ok("9-a"));
    static const char *const bad[] = {"", "-", "a-", "-a", "A", "a_b", "a.b", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_FALSE(json_name_ok(bad[i]));
    char longest[HW_NAME_MAX + 2];
    memset(longest, 'a', sizeof longest);
    longest[HW_NAME_MAX] = '\0';
    CU_ASSERT_TRUE(json_name_ok(longest));
    longest[HW_NAME_MAX] = 'a';
    longest[HW_NAME_MAX + 1] = '\0';
    CU_ASSERT_FALSE(json_name_ok(longest));
}

static void test_writer(void)
{
    struct json_writer w;
    struct prefix p;
    struct hw_id id = {{1, 2, 3}};
    size_t len;
    CU_ASSERT_EQUAL(prefix_parse("fd00::/8", &p, NULL), HW_OK);
    json_writer_init(&w);
    json_put_str(&w, "z", "slash / quote \" \xc3\xa9\n");
    json_put_uint(&w, "u", UINT64_MAX);
    json_put_int(&w, "i", INT64_MIN);
    json_open_array(&w, "a");
    json_put_bool(&w, NULL, false);
    json_put_null(&w, NULL);
    json_put_double(&w, NULL, 0.1);
    json_put_double(&w, NULL, 10.0);
    json_put_double(&w, NULL, 1.0 / 3);
    json_put_double(&w, NULL, HUGE_VAL);
    json_open_object(&w, NULL);
    json_put_id(&w, "id", &id);
    json_put_prefix(&w, "p", &p);
    json_put_ip(&w, "ip", &p.addr);
    json_put_ip(&w, "none", &(struct ipaddr){0});
    json_put_strn(&w, "n", "abcdef", 3);
    json_put_str(&w, "s", NULL);
    json_close(&w);
    json_close(&w);
    char *text = json_finish(&w, &len);
    CU_ASSERT_STRING_EQUAL(
        text,
        "{\"z\":\"slash / quote \\\" \xc3\xa9\\n\",\"u\":18446744073709551615,"
        "\"i\":-9223372036854775808,\"a\":[false,null,0.1,10,0.3333333333333333,null,"
        "{\"id\":\"01020300-0000-0000-0000-000000000000\",\"p\":\"fd00::/8\",\"ip\":\"fd00::\","
        "\"none\":null,\"n\":\"abc\",\"s\":null}]}");
    CU_ASSERT_EQUAL(len, strlen(text));
    free(text);
}

/* Whatever bytes are put in, what comes out is JSON. */
static void test_writer_repairs(void)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"a\xc3", "a\xef\xbf\xbd"}, /* cut within a character */
        {"\xe2\x82\xac", "\xe2\x82\xac"},
        {"\xe2\x82 x", "\xef\xbf\xbd\xef\xbf\xbd x"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_writer w;
        struct json_object *doc = NULL;
        const char *read = NULL;
        json_writer_init(&w);
        json_put_str(&w, "s", rows[i].in);
        char *text = json_finish(&w, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT_EQUAL_FATAL(json_parse(text, strlen(text), 1000, &doc, &e), HW_OK);
        struct json_at top = json_root(doc);
        CU_ASSERT_EQUAL_FATAL(json_get_str(&top, "s", 100, &read, &e), HW_OK);
        CU_ASSERT_STRING_EQUAL(read, rows[i].out);
        json_free(doc);
        free(text);
    }
}

/* The values are gone while the document still is there. */
static void test_secret(void)
{
    struct json_object *doc = doc_of("{\"a\":[\"secret one\"],\"b\":{\"c\":\"two\"},\"n\":1}"),
                       *kept;
    struct json_at top = json_root(doc), a;
    const char *one, *two;
    size_t n;
    CU_ASSERT_EQUAL_FATAL(json_get_array(&top, "a", 1, &a, &n, &e), HW_OK);
    struct json_at v = json_element(&a, 0);
    CU_ASSERT_EQUAL_FATAL(json_as_str(&v, 20, &one, &e), HW_OK);
    CU_ASSERT_EQUAL_FATAL(json_get_object(&top, "b", &a, &e), HW_OK);
    CU_ASSERT_EQUAL_FATAL(json_get_str(&a, "c", 20, &two, &e), HW_OK);
    kept = json_object_get(doc);
    json_free_secret(doc);
    CU_ASSERT_EQUAL(memcmp(one, "\0\0\0\0\0\0\0\0\0\0", 10), 0);
    CU_ASSERT_EQUAL(memcmp(two, "\0\0\0", 3), 0);
    json_free(kept);
    struct json_writer w;
    json_writer_init(&w);
    w.secret = true;
    json_put_str(&w, "s", "x");
    char *text = json_finish(&w, NULL);
    CU_ASSERT_STRING_EQUAL(text, "{\"s\":\"x\"}");
    free(text);
}

static void test_writer_misuse(void)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_uint(&w, NULL, 1); /* an object's member needs a name */
    CU_ASSERT_PTR_NULL(json_finish(&w, NULL));
    json_writer_init(&w);
    json_open_array(&w, "a");
    json_put_uint(&w, "x", 1);
    CU_ASSERT_PTR_NULL(json_finish(&w, NULL));
    json_writer_init(&w);
    json_open_array(&w, "a");
    CU_ASSERT_PTR_NULL(json_finish(&w, NULL)); /* not closed */
    json_writer_init(&w);
    json_close(&w);
    CU_ASSERT_PTR_NULL(json_finish(&w, NULL));
    json_writer_init(&w);
    for (int i = 0; i < JSON_WRITER_DEPTH + 3; i++)
        json_open_array(&w, i ? NULL : "a");
    CU_ASSERT_TRUE(w.failed);
    json_writer_done(&w);
    json_writer_done(&w);
}

/* Random bytes and spoilt documents: never a crash, and what is accepted prints and parses again.
 */
static void test_noise(void)
{
    static const char seed[] = "{\"a\":[1,-2.5e3,\"x\\u00e9\\n\",{\"b\":null}],\"c\":true}";
    uint64_t s = 88172645463325252ull;
    for (int i = 0; i < 30000; i++) {
        char text[sizeof seed];
        struct json_object *doc;
        memcpy(text, seed, sizeof seed);
        for (int k = 0; k < 1 + i % 4; k++) {
            s ^= s << 13;
            s ^= s >> 7;
            s ^= s << 17;
            text[s % (sizeof seed - 1)] = i % 2 ? (char)(s >> 32) : "{}[]\",:0e\\u"[(s >> 32) % 11];
        }
        if (parse_n(text, sizeof seed - 1 - (s >> 40) % 5 * (i % 3 == 0), &doc) != HW_OK)
            continue;
        struct json_writer w;
        json_writer_init(&w);
        json_put_value(&w, "again", doc);
        char *printed = json_finish(&w, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(printed);
        CU_ASSERT_EQUAL(parse(printed, &doc), HW_OK);
        json_free(doc);
        free(printed);
    }
}

/* Text made elsewhere stands as it is, between members that the writer makes. */
static void test_raw(void)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_uint(&w, "a", 1);
    json_put_raw(&w, "b", strdup("[[0,4095],[1,1]]"));
    json_put_uint(&w, "c", 2);
    char *printed = json_finish(&w, NULL);
    CU_ASSERT_STRING_EQUAL(printed, "{\"a\":1,\"b\":[[0,4095],[1,1]],\"c\":2}");
    free(printed);
    json_writer_init(&w);
    json_put_raw(&w, "b", NULL);
    CU_ASSERT_PTR_NULL(json_finish(&w, NULL));
}

int main(void)
{
    CU_TestInfo tests[] = {{"accepted", test_accepted},
                           {"text made elsewhere", test_raw},
                           {"refused", test_refused},
                           {"place of error", test_place_of_error},
                           {"twice", test_twice},
                           {"depth and size", test_depth_and_size},
                           {"members", test_members},
                           {"each member", test_each_member},
                           {"long path", test_long_path},
                           {"integers", test_integers},
                           {"other types", test_other_types},
                           {"names", test_names},
                           {"writer", test_writer},
                           {"writer repairs", test_writer_repairs},
                           {"secret", test_secret},
                           {"writer misuse", test_writer_misuse},
                           {"noise", test_noise},
                           CU_TEST_INFO_NULL};
    return suite_run("json", tests);
}
