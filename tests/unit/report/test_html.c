/* The HTML page: what it shows, and that names in it cannot do harm. */
#include "tests/unit/test.h"
#include "report/page/events/packed.h"
#include "report/page/svg.h"
#include "report/page/xml.h"
#include "tests/unit/exported.h"

#include <zlib.h>

static char *escaped(void (*write)(FILE *, const char *), const char *s)
{
    char *out;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    write(f, s);
    fclose(f);
    return out;
}

TEST(escapes_markup)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
        {"x\x01y\x1bz", "x\xef\xbf\xbdy\xef\xbf\xbdz"},
        {"\xff", "\xef\xbf\xbd"},
        {"\xc2\x9b\xe2\x80\xae", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xef\xbf\xbe\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"a\n\tb\r", "a&#10;&#9;b&#13;"},
        {"##[error]#", "&#35;#[error]#"},
        {"\xc3\xa9", "\xc3\xa9"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *out = escaped(xml_text, cases[i].in);
        ck_assert_str_eq(out, cases[i].out);
        free(out);
    }
    static const char *const markdown[][2] = {
        {"a|b\nc<d>*", "a\\|b c&lt;d>\\*"},
        {"@me #1 #x # a#", "@&#8203;me #&#8203;1 #x # a#"},
        {"http://x a::b www.x", "http:&#8203;//x a::b www.&#8203;x"},
        {"$x~[y](z)`", "&#36;x\\~\\[y\\](z)\\`"},
        {"\x1b\xe2\x81\xa6", "\xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < sizeof markdown / sizeof *markdown; i++) {
        char *out = escaped(markdown_text, markdown[i][0]);
        ck_assert_str_eq(out, markdown[i][1]);
        free(out);
    }
}

static int digit(char c)
{
    const char *all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c ? strchr(all, c) : NULL;
    return p ? (int)(p - all) : -1;
}

/* Base64 and gzip undone, malloc'ed and terminated. */
static char *unpacked(const char *text, size_t n)
{
    unsigned char *bytes = malloc(n);
    size_t len = 0;
    unsigned v = 0;
    int bits = 0;
    for (size_t i = 0; i < n && digit(text[i]) >= 0; i++) {
        v = v << 6 | (unsigned)digit(text[i]);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes[len++] = (unsigned char)(v >> bits);
        }
    }
    size_t room = 16 << 20;
    char *out = calloc(1, room);
    z_stream z = {.next_in = bytes, .avail_in = (uInt)len, .next_out = (Bytef *)out};
    z.avail_out = (uInt)room - 1;
    ck_assert_int_eq(inflateInit2(&z, 31), Z_OK);
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    free(bytes);
    return out;
}

TEST(packs_and_unpacks)
{
    static const size_t lengths[] = {0, 1, 2, 3, 4, 1000, 300000};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        char *text = malloc(lengths[k] + 1), *packed;
        size_t n;
        for (size_t i = 0; i < lengths[k]; i++)
            text[i] = (char)('a' + i * i % 23);
        text[lengths[k]] = 0;
        FILE *f = open_memstream(&packed, &n), *p = packed_open(f);
        fputs(text, p);
        ck_assert_int_eq(fclose(p), 0);
        fclose(f);
        char *back = unpacked(packed, n);
        ck_assert_str_eq(back, text);
        free(back);
        free(packed);
        free(text);
    }
}

TEST(page_is_one_harmless_file)
{
    struct builder b;
    char *out = exported("html", exported_run(&b, NULL));
    ck_assert_ptr_nonnull(strstr(out, "default-src &#39;none&#39;"));
    ck_assert_ptr_null(strstr(out, "<img"));
    ck_assert_ptr_null(strstr(out, "<link"));
    ck_assert_int_eq(occurrences(out, "<script"), 2);
    ck_assert_int_eq(occurrences(out, "</script>"), 2);
    ck_assert_ptr_nonnull(strstr(out, "&lt;/script&gt;&lt;img src=x"));
    ck_assert_uint_lt(strlen(out), 200000);
    free(out);
}

TEST(page_says_it_all_without_script)
{
    static const char *const wanted[] = {
        "<p class=\"verdict\">", "What to change",
        "Where a step goes",     "Every step",
        "When the GPU idles",    "volta_sgemm_128x64_nn",
        "a warning to show",     "host to device, pageable",
        "cudaStreamSynchronize", "steps per second",
    };
    struct builder b;
    char *out = exported("html", exported_run(&b, NULL));
    *strstr(out, "id=\"data\"") = 0; /* everything before the data block */
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        ck_assert_msg(strstr(out, wanted[i]) != NULL, "%s", wanted[i]);
    free(out);
}

/* Nothing says that Python drives this program: CUDA's words stand open, the others are folded. */
TEST(page_shows_the_remedy_for_this_program)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    char *out = exported("html", a);
    int open = occurrences(out, "</h3>\n<dl class=\"remedy\">\n<dt>");
    ck_assert_int_eq(open, (int)a->ranked_count);
    int own = occurrences(out, "</h3>\n<dl class=\"remedy\">\n<dt>CUDA C</dt>");
    ck_assert_int_gt(own, 0);
    ck_assert_int_ge(occurrences(out, "<summary>For PyTorch, TensorFlow</summary>"), own);
    free(out);
}

TEST(page_of_an_unknown_device_begins_with_the_steps)
{
    struct builder b;
    char *out = exported("html", exported_run(&b, ""));
    const char *sub = strstr(out, "<p class=\"sub\">");
    ck_assert_ptr_nonnull(sub);
    ck_assert_msg(strncmp(sub + 15, "11 of 12 steps used", 19) == 0, "%.60s", sub);
    ck_assert_ptr_nonnull(strstr(out, ">a warning to show</td><td>3</td>"));
    free(out);
}

/* A window without steps, copies that take most of it, and gaps too short to be listed. */
TEST(page_of_a_window_of_copies)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < 20; at += US(501 + i), i++)
        build_copy(&b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, false, 1 << 20, MS(1) + US(i), US(1),
                   at, US(500 + i));
    build_kernel(&b, "volta_sgemm_128x64_nn", MS(1) + US(30), at, US(400));
    char *out = exported("html", build_analyze(&b));
    *strstr(out, "id=\"data\"") = 0;
    ck_assert_msg(!strstr(out, "&amp;middot;"), "markup as text");
    ck_assert_ptr_nonnull(strstr(out, "GB &middot; no step repeats"));
    ck_assert_ptr_nonnull(strstr(out, "<dt>exposed copies</dt>"));
    ck_assert_msg(strstr(out, "Every gap in the analysed time is shorter than 2.00 us."), "%.600s",
                  strstr(out, "When the GPU idles"));
    free(out);
}

/* A gap names the call that fills it, else the range around it: not the call behind it. */
TEST(page_says_what_happened_during_a_gap)
{
    struct builder b = build_start();
    for (int i = 0; i < 12; i++) {
        int64_t at = MS(1) + MS(10) * i;
        build_range(&b, "step", at, at + MS(10));
        build_range(&b, "augment on the host", at + US(10), at + MS(6));
        build_kernel(&b, "volta_sgemm_128x64_nn", at + MS(6), at + MS(6) + US(20), MS(3));
    }
    char *out = exported("html", build_analyze(&b));
    const char *gaps = strstr(out, "Longest gaps in");
    ck_assert_ptr_nonnull(gaps);
    ck_assert_ptr_nonnull(strstr(gaps, "<span class=\"mid\" title=\"augment on the host\">"));
    free(out);
}

/* A profiler that recorded no GPU: nothing is said of one that idles, and no cause is given. */
TEST(page_of_host_work_alone_speaks_of_no_idle_gpu)
{
    struct builder b = build_start_on("", 9, 0);
    build_meta(&b, "source", "kineto");
    build_meta(&b, "have", "ranges");
    for (int i = 0, at = 1; i < 12; i++) {
        build_range(&b, "step", MS(at), MS(at + (i == 5 ? 30 : 10)) - US(5));
        at += i == 5 ? 30 : 10;
    }
    char *out = exported("html", build_analyze(&b));
    *strstr(out, "id=\"data\"") = 0;
    char *words = strstr(out, "<summary>Words"); /* the glossary explains all */
    ck_assert_ptr_nonnull(words);
    *words = 0;
    static const char *const silly[] = {"GPU idle", "unexplained", "unknown GPU", "Colours as",
                                        "largest cause"};
    for (size_t i = 0; i < sizeof silly / sizeof *silly; i++)
        ck_assert_msg(!strstr(out, silly[i]), "says '%s'", silly[i]);
    ck_assert_ptr_nonnull(strstr(out, "no GPU recorded"));
    ck_assert_ptr_nonnull(strstr(out, "Step 6: 30.0 ms, 3.0 times the median"));
    free(out);
}

/* Which thread waits, and for what. */
TEST(page_tells_what_threads_wait_for)
{
    struct builder b;
    char *out = exported("html", exported_run(&b, NULL));
    const char *table = strstr(out, "What the threads did between");
    ck_assert_ptr_nonnull(table);
    static const char *const cells[] = {">100 ms<",       ">40.0 %<", ">10.0 %<",  ">50.0 %<",
                                        ">not recorded<", ">3<",      ">8.00 MB<", ">2.00 MB<"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        const char *at = strstr(table, cells[i]);
        ck_assert_msg(at != NULL, "no %s in %.900s", cells[i], table);
        table = at;
    }
    free(out);
}

TEST(page_carries_every_event_of_a_small_run)
{
    struct builder b;
    char *out = exported("html", exported_run(&b, NULL));
    const char *data = strstr(out, "id=\"data\">") + 10;
    char *json = unpacked(data, (size_t)(strchr(data, '<') - data));
    ck_assert_ptr_nonnull(strstr(json, "\"all\": true"));
    ck_assert_ptr_nonnull(strstr(json, "\"kind\": \"gpu\""));
    ck_assert_ptr_nonnull(strstr(json, "\"kind\": \"host\""));
    ck_assert_ptr_nonnull(strstr(json, EVIL_NAME)); /* whole, to be drawn as text */
    ck_assert_int_eq(occurrences(json, "cudaLaunchKernel"), 1);
    free(json);
    free(out);
}

/* In bars and in the legend. */
TEST(page_has_a_colour_for_each_part)
{
    struct builder b;
    char *out = exported("html", exported_run(&b, NULL));
    for (int p = 0; p < PART_COUNT; p++) {
        static const char *const rule[] = {"--p%d:", "i.p%d {", "svg .p%d {"};
        for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
            char text[16];
            snprintf(text, sizeof text, rule[i], p);
            ck_assert_msg(strstr(out, text), "no '%s' for %s", text, part_key[p]);
        }
    }
    free(out);
}

TEST(rounds_axes_up)
{
    ck_assert_double_eq_tol(svg_nice(0.7), 0.8, 1e-12);
    ck_assert_double_eq(svg_nice(1.2), 1.5);
    ck_assert_double_eq(svg_nice(32), 40);
    ck_assert_double_eq(svg_nice(700), 800);
    ck_assert_double_eq(svg_nice(208), 250);
    ck_assert_double_eq(svg_nice(0.95), 1);
    ck_assert_double_eq(svg_nice(0), 1);
}
