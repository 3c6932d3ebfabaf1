/* Perfetto's format: read back field by field. */
#include "tests/unit/exported.h"
#include "tests/unit/test.h"

#include "report/trace/proto.h"

#include <string.h>

/* A field of a message: its number, and a varint's value or the bytes of a text or message. */
struct field {
    unsigned number;
    uint64_t value;
    const uint8_t *at;
    size_t n;
};

static uint64_t varint(const uint8_t **p)
{
    uint64_t v = 0;
    int shift = 0;
    do
        v |= (uint64_t)(**p & 0x7f) << shift;
    while (shift += 7, *(*p)++ & 0x80);
    return v;
}

/* Reads the field at *p, which comes to lie behind it. False at the end. */
static bool next(const uint8_t **p, const uint8_t *end, struct field *f)
{
    if (*p >= end)
        return false;
    uint64_t tag = varint(p);
    *f = (struct field){.number = (unsigned)(tag >> 3)};
    switch (tag & 7) {
    case 0:
        f->value = varint(p);
        break;
    case 1:
        *p += 8;
        break;
    default:
        ck_assert_uint_eq(tag & 7, 2);
        f->n = varint(p);
        f->at = *p;
        *p += f->n;
    }
    ck_assert(*p <= end);
    return true;
}

/* The first field of that number; its number is 0 if there is none. */
static struct field find(const uint8_t *at, size_t n, unsigned number)
{
    struct field f;
    for (const uint8_t *p = at; next(&p, at + n, &f);)
        if (f.number == number)
            return f;
    return (struct field){0};
}

struct seen {
    int stages, begins, ends, counters, correlated;
    int64_t stage_ns, span_ns; /* sums: of the stages' durations; of ends minus begins */
    int64_t now_ns;            /* on the clock of the present sequence */
    uint64_t sequence;
};

static void see_event(struct seen *s, const struct field *event)
{
    uint64_t type = find(event->at, event->n, 9).value;
    s->begins += type == 1;
    s->ends += type == 2;
    s->counters += type == 4;
    s->span_ns += type == 1 ? -s->now_ns : type == 2 ? s->now_ns : 0;
    s->correlated += find(event->at, event->n, 3000).number != 0;
}

static void see(struct seen *s, const uint8_t *at, size_t n)
{
    struct field time = find(at, n, 8), event = find(at, n, 11), stage = find(at, n, 53);
    uint64_t sequence = find(at, n, 10).value;
    if (sequence != s->sequence) {
        ck_assert_uint_eq(find(at, n, 13).value, 1); /* it needs nothing of what came before */
        s->now_ns = 0;
    }
    s->sequence = sequence;
    s->now_ns += time.number ? (int64_t)time.value : 0;
    if (event.number)
        see_event(s, &event);
    s->stages += stage.number != 0;
    s->stage_ns += stage.number ? (int64_t)find(stage.at, stage.n, 2).value : 0;
}

TEST(holds_what_the_chrome_trace_holds)
{
    struct builder b;
    size_t n;
    struct advice *a = exported_run(&b, NULL);
    char *out = exported_bytes("perfetto", a, &n), *json = exported("chrome", a);
    struct seen s = {0};
    struct field packet;
    const uint8_t *p = (const uint8_t *)out, *end = p + n;
    while (next(&p, end, &packet)) {
        ck_assert_uint_eq(packet.number, 1);
        see(&s, packet.at, packet.n);
    }
    int64_t busy_ns = 0;
    for (size_t i = 0; i < a->facts->tl->op_count; i++)
        busy_ns += a->facts->tl->ops[i].end_ns - a->facts->tl->ops[i].start_ns;
    ck_assert_int_eq(s.stages, 48);
    ck_assert_int_eq(s.stage_ns, busy_ns);
    ck_assert_int_eq(s.correlated, occurrences(json, "\"ph\":\"s\""));
    ck_assert_int_eq(s.begins + s.stages, occurrences(json, "\"ph\":\"X\""));
    ck_assert_int_eq(s.begins, s.ends);
    ck_assert_int_gt(s.span_ns, 0);
    ck_assert_int_eq(s.counters, occurrences(json, "\"ph\":\"C\""));
    free(json);
    free(out);
}

/* A name that no encoding knows stays in its place, and is marked. */
TEST(replaces_bad_bytes)
{
    struct proto m = {0};
    proto_text(&m, 2, "a\xff\xc3\xa4");
    ck_assert_uint_eq(m.n, 2 + 1 + 3 + 2);
    ck_assert_mem_eq(m.at,
                     "\x12\x06"
                     "a\xef\xbf\xbd\xc3\xa4",
                     8);
    proto_clear(&m);
    proto_text(&m, 2, "\x1b[31m\u202e");
    ck_assert_mem_eq(m.at,
                     "\x12\x0a"
                     "\xef\xbf\xbd[31m\xef\xbf\xbd",
                     12);
    proto_clear(&m);
    proto_int(&m, 3000, 300);
    ck_assert_mem_eq(m.at, "\xc0\xbb\x01\xac\x02", 5);
    proto_release(&m);
}
