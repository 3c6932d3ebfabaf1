/* Fuzzes what is read of the Python hook: facts about the program, and settings. The input is texts,
 * each with a NUL behind it: a key, its value, the next key. They stand for the facts of a training
 * loop's first process, behind an empty key for those of the second. They go the way of a recording,
 * through the removal of secrets, the analysis, its predictions and an exporter. */
#include "tests/fuzz/fuzz.h"

#include "analyzer/profile/redact.h"
#include "analyzer/timeline/timeline.h"
#include "base/settings.h"
#include "tests/unit/memory_sink.h"

/* The next text, at *at of size bytes. NULL: there is none. */
static const char *next(const char *data, size_t size, size_t *at, size_t *length)
{
    if (*at >= size)
        return NULL;
    const char *text = data + *at, *end = memchr(text, 0, size - *at);
    *length = end ? (size_t)(end - text) : size - *at;
    *at += *length + 1;
    return text;
}

static int put(const struct sink *sink, struct row_meta *m, const char *key, size_t key_n,
               const char *value, size_t value_n, struct err *e)
{
    m->id++;
    m->key = sink->intern(sink->self, key, key_n);
    m->value = sink->intern(sink->self, value, value_n);
    if (m->key == STR_NONE || m->value == STR_NONE)
        return -1;
    return sink->put(sink->self, ROW_META, m, e);
}

static int put_facts(const struct sink *sink, int64_t id, const char *data, size_t size,
                     struct err *e)
{
    struct row_meta m = {.id = id, .process = 1};
    size_t at = 0, key_n, value_n;
    for (const char *key, *value; (key = next(data, size, &at, &key_n)) != NULL;) {
        if (key_n == 0)
            m.process = 2;
        else if ((value = next(data, size, &at, &value_n)) == NULL)
            return 0;
        else if (put(sink, &m, key, key_n, value, value_n, e) < 0)
            return -1;
    }
    return 0;
}

/* The recording, without what its own processes say of themselves. */
static int fill(const struct sink *sink, const char *data, size_t size, struct err *e)
{
    const struct memory *seed = fuzz_recording();
    for (uint32_t i = 1; i < seed->strings.n; i++)
        if (sink->intern(sink->self, seed->strings.text[i], seed->strings.length[i]) == STR_NONE)
            return -1;
    for (int k = 0; k < ROW_KINDS; k++)
        for (int i = 0; i < seed->count[k]; i++) {
            const void *row = seed->rows[k][i];
            if (k == ROW_META && ((const struct row_meta *)row)->process != 0)
                continue;
            if (sink->put(sink->self, (enum row_kind)k, row, e) < 0)
                return -1;
        }
    return put_facts(sink, seed->count[ROW_META], data, size, e);
}

/* Each text is read as settings too, by all that reads them. A long one would take its square. */
static void read_settings(const char *data, size_t size)
{
    size_t at = 0, n;
    for (const char *text; (text = next(data, size, &at, &n)) != NULL;) {
        char *copy = strndup(text, n < 1024 ? n : 1024), out[64];
        struct setting_text s, found;
        if (!copy)
            abort();
        for (const char *p = copy; settings_next(&p, &s);)
            if (!settings_find(copy, s.name, s.name_size, &found))
                abort();
        if (!settings_hold(copy, copy) ||
            settings_copy(out, sizeof out, copy, ';') !=
                (strlen(out) > 0 || strspn(copy, " \t;,") == strlen(copy)))
            abort();
        free(copy);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = ERR_INIT;
    struct timeline *t = timeline_new(&e);
    if (!t)
        return 0;
    bool all = size && data[0] & 1;
    struct redact *r = redact_open(timeline_sink(t), all, &e);
    struct sink sink = r ? redact_sink(r) : timeline_sink(t);
    read_settings((const char *)data, size);
    if (fill(&sink, (const char *)data, size, &e) == 0)
        /* predictions take most of the time, and read few facts */
        fuzz_answer(t, size % 8 == 0, size ? data[size - 1] : 0);
    redact_close(r);
    timeline_free(t);
    return 0;
}
