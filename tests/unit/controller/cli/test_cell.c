#include "controller/cli/body.h"
#include "controller/cli/cell.h"
#include "controller/cli/visible.h"
#include "tests/unit/suite.h"
#include <inttypes.h>
#include <string.h>

#define CHECK(call, want)                                                                          \
    do {                                                                                           \
        struct strbuf b = STRBUF_INIT;                                                             \
        call;                                                                                      \
        CU_ASSERT_STRING_EQUAL(strbuf_str(&b), want);                                              \
        strbuf_done(&b);                                                                           \
    } while (0)

static void test_visible(void)
{
    CHECK(visible_text(&b, "plain äöü 漢"), "plain äöü 漢");
    CHECK(visible_text(&b, "a\nb\tc\r"), "a\\nb\\tc\\r");
    CHECK(visible_text(&b, "\x1b[2J\x7f"), "\\x1b[2J\\x7f");
    CHECK(visible_text(&b, "\xc2\x9b"), "\\u009b");
    CHECK(visible_text(&b, "\xe2\x80\xae"), "\\u202e");
    CHECK(visible_text(&b, "\xff\xc3"), "\\xff\\xc3");
    CHECK(visible_lines(&b, "a\nb\t\x1b", 5), "a\nb\t\\x1b");
    CHECK(visible_json(&b, "{\n  \"a\": \"\xc2\x9b\xf3\xa0\x80\x81\"\n}"),
          "{\n  \"a\": \"\\u009b\\udb40\\udc01\"\n}");
    CU_ASSERT_EQUAL(visible_width("äöü…"), 4);
}

static void test_numbers(void)
{
    CHECK(cell_scaled(&b, 0, "bit/s"), "0 bit/s");
    CHECK(cell_scaled(&b, 999, "bit/s"), "999 bit/s");
    CHECK(cell_scaled(&b, 999.9, "bit/s"), "1.00 kbit/s");
    CHECK(cell_scaled(&b, 941e6, "bit/s"), "941 Mbit/s");
    CHECK(cell_scaled(&b, 9.414e9, "bit/s"), "9.41 Gbit/s");
    CHECK(cell_scaled(&b, 36e9, "bit/s"), "36.0 Gbit/s");
    CHECK(cell_scaled(&b, 1e21, "bit/s"), "1000000 Pbit/s");
    CHECK(cell_bytes(&b, 103079215104.0), "96.0 GiB");
    CHECK(cell_bytes(&b, 1023), "1023 B");
}

static void test_spans(void)
{
    CHECK(cell_span(&b, -5), "0 s");
    CHECK(cell_span(&b, 119), "119 s");
    CHECK(cell_span(&b, 120), "2 min");
    CHECK(cell_span(&b, 7199), "119 min");
    CHECK(cell_span(&b, 7200), "2 h");
    CHECK(cell_span(&b, 400 * 86400), "400 d");
}

static void test_durations(void)
{
    static const struct {
        const char *text;
        bool ok;
        uint64_t seconds;
    } cases[] = {
        {"90", true, 90},  {"30m", true, 1800}, {"24h", true, 86400}, {"7d", true, 604800},
        {"5s", true, 5},   {"", false, 0},      {"-5", false, 0},     {"5x", false, 0},
        {"5mm", false, 0}, {"h", false, 0},     {" 5", false, 0},     {"99999999999d", false, 0},
        {"1e3", false, 0}, {"0x5", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t seconds = 0;
        CU_ASSERT_EQUAL(body_duration(cases[i].text, &seconds), cases[i].ok);
        CU_ASSERT_EQUAL(seconds, cases[i].seconds);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"visible", test_visible},
                           {"numbers", test_numbers},
                           {"spans", test_spans},
                           {"durations", test_durations},
                           CU_TEST_INFO_NULL};
    return suite_run("cell", tests);
}
