/* Fuzzes the analysis, its predictions and every exporter with the rows of a training loop in which
 * some numbers are changed. The input is a list of changes of twelve bytes each: table, column, row
 * (two bytes), and an eight-byte number. A first byte of 0 to 15 in the number stands for one of 16
 * hostile values. */
#include "tests/fuzz/fuzz.h"

#include "analyzer/timeline/timeline.h"
#include "tests/unit/memory_sink.h"

enum { CHANGE = 12 };

static const struct memory *seed;

static int64_t number(const uint8_t *data)
{
    static const int64_t hostile[16] = {INT64_MIN,
                                        INT64_MIN + 1,
                                        INT64_MAX,
                                        -1,
                                        0,
                                        1,
                                        UINT32_MAX,
                                        INT32_MIN,
                                        ((int64_t)1 << 53) - 1,
                                        1 - ((int64_t)1 << 53),
                                        (int64_t)1 << 53,
                                        -((int64_t)1 << 53),
                                        (int64_t)1 << 40,
                                        1000000000,
                                        65536,
                                        -65536};
    int64_t v;
    memcpy(&v, data, sizeof v);
    return data[0] < 16 ? hostile[data[0]] : v;
}

/* Row i of a table with the changes that are for it; the row ffff stands for all. */
static void change(enum row_kind kind, int i, int64_t *row, const uint8_t *data, size_t size)
{
    const struct table *t = &tables[kind];
    for (; size >= CHANGE; data += CHANGE, size -= CHANGE) {
        const struct column *c = &t->columns[data[1] % t->count];
        int of = data[2] | data[3] << 8;
        if (data[0] % ROW_KINDS != (int)kind || (of != 0xffff && of % seed->count[kind] != i))
            continue;
        int64_t v = number(data + 4);
        uint32_t id = (uint32_t)v;
        if (c->is_string)
            memcpy((char *)row + c->offset, &id, sizeof id);
        else
            memcpy((char *)row + c->offset, &v, sizeof v);
    }
}

static int fill(struct sink *sink, const uint8_t *data, size_t size, struct err *e)
{
    int64_t row[TABLE_MAX_ROW / sizeof(int64_t) + 1];
    for (uint32_t i = 1; i < seed->strings.n; i++)
        if (sink->intern(sink->self, seed->strings.text[i], seed->strings.length[i]) == STR_NONE)
            return -1;
    for (int k = 0; k < ROW_KINDS; k++)
        for (int i = 0; i < seed->count[k]; i++) {
            memcpy(row, seed->rows[k][i], sizeof row);
            change((enum row_kind)k, i, row, data, size);
            if (sink->put(sink->self, (enum row_kind)k, row, e) < 0)
                return -1;
        }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = ERR_INIT;
    seed = fuzz_recording();
    struct timeline *t = timeline_new(&e);
    if (!t)
        return 0;
    struct sink sink = timeline_sink(t);
    if (fill(&sink, data, size, &e) == 0)
        fuzz_answer(t, true, size ? data[size - 1] : 0);
    timeline_free(t);
    return 0;
}
