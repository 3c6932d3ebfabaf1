/* Reads traces of the PyTorch profiler (Kineto): Chrome trace JSON, plain or gzip, as an
 * object or a bare list.
 *
 * It takes one pass: names are interned, and rows are passed on at once. Memory holds the longest
 * text of one event and the lists of threads and streams, never the whole document. Cost: about
 * 0.15 s for 50 MB of text, without the sink. Host names, environment and paths in the trace's
 * header are never copied. */
#include "analyzer/import/import.h"
#include "analyzer/import/kineto/kineto.h"

#include "base/plain.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MAX_STRING = 64 << 20, GZIP_BUFFER = 256 << 10 };

static bool sniff(const char *path, const void *head, size_t n)
{
    (void)path;
    const char *p = head, *end = p + n;
    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end && (unsigned char)*p <= ' ')
        p++;
    return p < end && (*p == '{' || *p == '[');
}

static ssize_t fill(void *ctx, void *buf, size_t n)
{
    int got = gzread(ctx, buf, (unsigned)(n > 1 << 20 ? 1 << 20 : n));
    int code = Z_OK;
    if (got == 0)
        gzerror(ctx, &code); /* for a truncated gzip file gzread returns 0,
                                but gzerror reports it */
    return got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END) ? -1 : got;
}

static int read_events(struct kineto *k)
{
    struct kineto_event v;
    enum json_token t;
    while ((t = json_next(&k->json)) != JSON_ARRAY_END) {
        if (t == JSON_ERROR)
            return -1;
        k->events++;
        if (t == JSON_ARRAY) {
            if (json_skip_rest(&k->json) < 0)
                return -1;
            continue;
        }
        k->objects += t == JSON_OBJECT;
        if (t == JSON_OBJECT && (kineto_event_read(k, &v) < 0 || kineto_put(k, &v) < 0))
            return -1;
    }
    return 0;
}

static bool is_key(const struct json_reader *j, const char *key)
{
    return j->length == strlen(key) && memcmp(j->text, key, j->length) == 0;
}

/* Reads an object: integers of the members `keys` into `values`, and its "name" as a string id. */
static int read_members(struct kineto *k, const char *const *keys, int64_t **values, size_t n,
                        uint32_t *name)
{
    enum json_token t;
    while ((t = json_next(&k->json)) == JSON_KEY) {
        size_t i = 0;
        while (i < n && !is_key(&k->json, keys[i]))
            i++;
        bool is_name = name && is_key(&k->json, "name");
        t = json_next(&k->json);
        if (t == JSON_ERROR)
            return -1;
        if (t == JSON_OBJECT || t == JSON_ARRAY) {
            if (json_skip_rest(&k->json) < 0)
                return -1;
        } else if (i < n && t == JSON_NUMBER) {
            json_int64(k->json.text, k->json.length, values[i]);
        } else if (is_name && t == JSON_STRING && (*name = kineto_intern_token(k)) == STR_NONE) {
            return -1;
        }
    }
    return t == JSON_OBJECT_END ? 0 : -1;
}

static int read_devices(struct kineto *k)
{
    static const char *const keys[] = {"id",           "totalGlobalMem", "computeMajor",
                                       "computeMinor", "numSms",         "pid"};
    enum json_token t = json_next(&k->json);
    if (t != JSON_ARRAY)
        return t == JSON_ERROR ? -1 : t == JSON_OBJECT ? json_skip_rest(&k->json) : 0;
    int64_t devices = 0;
    for (; (t = json_next(&k->json)) == JSON_OBJECT; devices++) {
        struct kineto_device d = {.cc_major = -1, .cc_minor = -1};
        int64_t pid = -1, *values[] = {&d.ordinal,  &d.memory_bytes, &d.cc_major,
                                       &d.cc_minor, &d.sm_count,     &pid};
        if (read_members(k, keys, values, 6, &d.name) < 0 || kineto_process_turn(k, pid, 0, -1) < 0)
            return -1;
        d.process = k->process;
        if (kineto_device_add(k, &d) < 0)
            return -1;
    }
    return t == JSON_ARRAY_END ? kineto_put_number(k, "trace.devices", devices) : -1;
}

static int read_distributed(struct kineto *k)
{
    static const char *const keys[] = {"rank", "world_size"};
    int64_t *values[] = {&k->rank, &k->world_size};
    enum json_token t = json_next(&k->json);
    if (t != JSON_OBJECT)
        return t == JSON_ERROR ? -1 : t == JSON_ARRAY ? json_skip_rest(&k->json) : 0;
    return read_members(k, keys, values, 2, NULL);
}

/* Reads gpuprof's own addition to its exports: which pids belong to which rank, if
 * the file holds several. */
static int read_ranks(struct kineto *k)
{
    static const char *const keys[] = {"first_pid", "last_pid", "pid", "rank", "world_size"};
    enum json_token t = json_next(&k->json);
    if (t != JSON_ARRAY)
        return t == JSON_ERROR ? -1 : t == JSON_OBJECT ? json_skip_rest(&k->json) : 0;
    while ((t = json_next(&k->json)) == JSON_OBJECT) {
        struct kineto_process p = {.last_pid = -1, .pid = -1, .rank = -1, .world_size = -1};
        int64_t *values[] = {&p.first_pid, &p.last_pid, &p.pid, &p.rank, &p.world_size};
        if (read_members(k, keys, values, 5, NULL) < 0)
            return -1;
        if (p.first_pid <= p.last_pid && k->processes.n < KINETO_MOST_PROCESSES &&
            kineto_process_add(k, &p) < 0)
            return -1;
    }
    return t == JSON_ARRAY_END ? 0 : -1;
}

static int read_ours(struct kineto *k)
{
    enum json_token t = json_next(&k->json);
    if (t != JSON_OBJECT)
        return t == JSON_ERROR ? -1 : t == JSON_ARRAY ? json_skip_rest(&k->json) : 0;
    while ((t = json_next(&k->json)) == JSON_KEY) {
        bool ranks = k->json.length == 5 && memcmp(k->json.text, "ranks", 5) == 0;
        if ((ranks ? read_ranks(k) : json_skip(&k->json)) < 0)
            return -1;
    }
    return t == JSON_OBJECT_END ? kineto_put_number(k, "trace.exported", 1) : -1;
}

/* Recognises JSON of other tools by a key of the outermost object: what the file is, and what to
 * use instead. NULL: not known. */
static const char *other_json(const struct json_reader *j)
{
    static const struct {
        const char *key, *what;
    } known[] = {
        {"nodes", "a PyTorch execution trace (operators without times), not a timeline: record "
                  "with torch.profiler.profile and use the file that export_chrome_trace writes"},
        {"segments", "a snapshot of CUDA memory, not a timeline: gpuprof run --memory records "
                     "what holds it"},
        {"device_traces", "a snapshot of CUDA memory, not a timeline: gpuprof run --memory records "
                          "what holds it"},
        {"profiles", "a speedscope file: use the original trace"},
        {"resourceSpans",
         "an OpenTelemetry trace, which contains no GPU data: use a torch.profiler trace"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_key(j, known[i].key))
            return known[i].what;
    return NULL;
}

/* PyTorch for CUDA also writes this key, with the value "N/A". */
static int read_hip(struct kineto *k)
{
    enum json_token t = json_next(&k->json);
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(&k->json);
    k->hip |= t == JSON_NUMBER || (t == JSON_STRING && k->json.length && *k->json.text != 'N');
    return t == JSON_ERROR ? -1 : 0;
}

/* Reads a CUDA version, either a number as in CUDA's libraries (12080) or a text ("12.8.93"),
 * and puts it as a number. */
static int read_version(struct kineto *k, const char *meta)
{
    struct json_reader *j = &k->json;
    int64_t v = -1, minor = 0;
    enum json_token t = json_next(j);
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(j);
    if (t == JSON_NUMBER)
        json_int64(j->text, j->length, &v);
    const char *dot = t == JSON_STRING ? memchr(j->text, '.', j->length) : NULL;
    if (dot && json_int64(j->text, (size_t)(dot - j->text), &v)) {
        const char *end = j->text + j->length,
                   *next = memchr(dot + 1, '.', (size_t)(end - dot - 1));
        json_int64(dot + 1, (size_t)((next ? next : end) - dot - 1), &minor);
        v = v > 0 && v < 1000 && minor >= 0 && minor < 100 ? v * 1000 + minor * 10 : -1;
    }
    if (t == JSON_ERROR)
        return -1;
    return v > 0 ? kineto_put_number(k, meta, v) : 0;
}

/* Reads the value of a member of the outermost object; its key was just read. *found: it
 * was the list of events. */
static int read_member(struct kineto *k, bool *found)
{
    static const struct {
        const char *key;
        int (*read)(struct kineto *k);
    } members[] = {
        {"deviceProperties", read_devices},
        {"distributedInfo", read_distributed},
        {"gpuprof", read_ours},
        {"hip_runtime_version", read_hip},
    };
    static const struct {
        const char *key, *meta;
    } versions[] = {{"cuda_runtime_version", "runtime_version"},
                    {"cuda_driver_version", "driver_version"}};
    struct json_reader *j = &k->json;
    if (is_key(j, "traceEvents")) {
        *found = json_next(j) == JSON_ARRAY;
        return *found ? read_events(k) : -1;
    }
    if (is_key(j, "rocprofiler-sdk-tool")) {
        *found = true;
        return kineto_rocprof_read(k);
    }
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (is_key(j, members[i].key))
            return members[i].read(k);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (is_key(j, versions[i].key))
            return read_version(k, versions[i].meta);
    if (!k->other)
        k->other = other_json(j);
    return json_skip(j);
}

/* A trace is an object whose traceEvents are the events, or only the list of the events. */
static int read_document(struct kineto *k, bool *found)
{
    struct json_reader *j = &k->json;
    enum json_token t = json_next(j);
    if (t == JSON_ARRAY) {
        *found = true;
        if (read_events(k) < 0 || json_next(j) != JSON_END)
            return -1;
        return k->events && !k->objects ? err_set(k->e, "a JSON list without trace events: not a "
                                                        "PyTorch profiler (Chrome) trace")
                                        : 0;
    }
    if (t != JSON_OBJECT)
        return -1;
    while ((t = json_next(j)) == JSON_KEY)
        if (read_member(k, found) < 0)
            return -1;
    return t == JSON_OBJECT_END && json_next(j) == JSON_END ? 0 : -1;
}

static int read_trace(const char *path, struct sink *out, struct err *e)
{
    struct kineto k = {.out = out, .e = e, .rank = -1, .world_size = -1};
    kineto_event_words(&k);
    bool found = false;
    int rc = -1;
    gzFile f = gzdopen(plain_open(path), "rb");
    if (!f)
        return err_set(e, "cannot open %s", path);
    gzbuffer(f, GZIP_BUFFER);
    if (json_read_open(&k.json, fill, f, MAX_STRING) < 0) {
        err_set(e, "out of memory");
        goto close_file;
    }
    struct err inner = ERR_INIT;
    k.e = &inner;
    rc = kineto_process_init(&k) < 0 ? -1 : read_document(&k, &found);
    if (rc < 0 && inner.text[0])
        err_set(e, "%s: %s", path, inner.text);
    else if (rc < 0)
        err_set(e, "%s: %s at byte %llu; not a complete Chrome trace (export it again)", path,
                k.json.error ? k.json.error : "not a trace",
                (unsigned long long)(k.json.offset + k.json.pos));
    else if (!found && k.other)
        rc = err_set(e, "%s: %s", path, k.other);
    else if (!found)
        rc =
            err_set(e, "%s: JSON without traceEvents: not a PyTorch profiler (Chrome) trace", path);
    k.e = e;
    if (rc == 0 && k.objects && !k.have_mask && !k.bad)
        rc = err_set(e,
                     "%s: a Chrome trace without any event of PyTorch's profiler (kernel, "
                     "cuda_runtime, cpu_op): did another tool write it?",
                     path);
    if (rc == 0)
        rc = kineto_put_ends(&k);
    kineto_release(&k);
    json_read_close(&k.json);
close_file:
    gzclose(f);
    return rc;
}

const struct importer import_kineto = {
    .name = "kineto",
    .suffixes = ".json, .json.gz (PyTorch profiler, JAX, rocprofv3)",
    .priority = 90,
    .sniff = sniff,
    .read = read_trace,
};
