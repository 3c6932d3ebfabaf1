/* Reads rocprofv3's JSON: {"rocprofiler-sdk-tool": [{"metadata": .., "agents": .., "strings": ..,
 * "kernel_symbols": .., "buffer_records": {"kernel_dispatch": [..], "hip_api": [..], ..}}]}. What
 * records refer to comes before them, so one pass is enough. Of the metadata only the pid is read:
 * the rest contains the host's name, the command line and paths. */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"

#include <string.h>

/* The numbers of a record, by their key and the object around them (NULL: any). */
enum field {
    PID,
    KIND,
    OPERATION,
    THREAD,
    CORRELATION,
    START,
    END,
    AGENT,
    STREAM,
    QUEUE,
    KERNEL,
    BLOCK,
    GRID = BLOCK + 3,
    SOURCE = GRID + 3,
    TARGET,
    BYTES,
    ID,
    TYPE,
    UNITS,
    ORDINAL,
    KEY,
    FIELDS
};
static const struct {
    const char *in, *key;
    enum field field;
} fields[] = {{NULL, "pid", PID},
              {NULL, "kind", KIND},
              {NULL, "operation", OPERATION},
              {NULL, "thread_id", THREAD},
              {"correlation_id", "internal", CORRELATION},
              {NULL, "start_timestamp", START},
              {NULL, "end_timestamp", END},
              {"agent_id", "handle", AGENT},
              {"stream_id", "handle", STREAM},
              {"queue_id", "handle", QUEUE},
              {NULL, "kernel_id", KERNEL},
              {"workgroup_size", "x", BLOCK},
              {"workgroup_size", "y", BLOCK + 1},
              {"workgroup_size", "z", BLOCK + 2},
              {"grid_size", "x", GRID},
              {"grid_size", "y", GRID + 1},
              {"grid_size", "z", GRID + 2},
              {"src_agent_id", "handle", SOURCE},
              {"dst_agent_id", "handle", TARGET},
              {NULL, "bytes", BYTES},
              {"id", "handle", ID},
              {NULL, "type", TYPE},
              {NULL, "cu_count", UNITS},
              {NULL, "logical_node_type_id", ORDINAL},
              {NULL, "key", KEY}};

enum { CPU_AGENT = 1, NAMES = 3, NESTED = 8 };
/* Keys of names: of a device, a kernel (as rocprofv3 shows it, without arguments if so
 * configured), a marker. */
static const char *const name_keys[NAMES] = {"product_name", "formatted_kernel_name", "value"};

struct record {
    int64_t at[FIELDS]; /* -1 = absent */
    uint32_t name;      /* 0 = none */
    char head[sizeof((struct kineto_event *)0)->head];
};

/* What a name belongs to: the first number of its key in `names`. */
enum { OF_KERNEL = 1, OF_CALL, OF_MARKER, OF_AGENT };
struct rocprof {
    struct kineto *k;
    struct keymap names; /* keys: kernel id; kind and operation; marker id; agent id
                            (value: the device's ordinal) */
    int64_t pid;
};

static bool is_key(const struct json_reader *j, const char *key)
{
    return j->length == strlen(key) && memcmp(j->text, key, j->length) == 0;
}

static int read_value(struct rocprof *x, struct record *r, enum field field, bool name);

/* Reads an object whose '{' was just read; `in` is its key in the object around it. */
static int read_object(struct rocprof *x, struct record *r, const char *in, int depth)
{
    struct json_reader *j = &x->k->json;
    enum json_token t;
    while ((t = json_next(j)) == JSON_KEY) {
        char key[32];
        enum field field = FIELDS;
        bool name = false;
        size_t n = j->length < sizeof key - 1 ? j->length : sizeof key - 1;
        memcpy(key, j->text, n);
        key[n] = 0;
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            if (strcmp(fields[i].key, key) == 0 && (!fields[i].in || strcmp(fields[i].in, in) == 0))
                field = fields[i].field;
        for (int i = 0; i < NAMES; i++)
            name |= strcmp(name_keys[i], key) == 0;
        if (field < FIELDS || name) {
            if (read_value(x, r, field, name) < 0)
                return -1;
            continue;
        }
        t = json_next(j);
        if (t == JSON_ERROR || (t == JSON_ARRAY && json_skip_rest(j) < 0) ||
            (t == JSON_OBJECT &&
             (depth < NESTED ? read_object(x, r, key, depth + 1) : json_skip_rest(j)) < 0))
            return -1;
    }
    return t == JSON_OBJECT_END ? 0 : -1;
}

static int read_value(struct rocprof *x, struct record *r, enum field field, bool name)
{
    struct json_reader *j = &x->k->json;
    enum json_token t = json_next(j);
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(j);
    if (t == JSON_NUMBER && field < FIELDS)
        json_int64(j->text, j->length, &r->at[field]);
    if (t != JSON_STRING || !name)
        return t == JSON_ERROR ? -1 : 0;
    size_t n = j->length < sizeof r->head - 1 ? j->length : sizeof r->head - 1;
    memcpy(r->head, j->text, n);
    r->head[n] = 0;
    r->name = kineto_intern_token(x->k);
    return r->name == STR_NONE ? -1 : 0;
}

typedef int take(struct rocprof *x, struct record *r);

/* Reads a list, and passes each object to `each`. */
static int read_list(struct rocprof *x, take *each)
{
    struct json_reader *j = &x->k->json;
    enum json_token t = json_next(j);
    if (t != JSON_ARRAY)
        return t == JSON_ERROR ? -1 : t == JSON_OBJECT ? json_skip_rest(j) : 0;
    while ((t = json_next(j)) == JSON_OBJECT) {
        struct record r = {.name = 0};
        memset(r.at, 0xff, sizeof r.at);
        if (read_object(x, &r, "", 0) < 0 || each(x, &r) < 0)
            return -1;
    }
    return t == JSON_ARRAY_END ? 0 : -1;
}

static int keep(struct rocprof *x, int64_t what, int64_t a, int64_t b, uint32_t value)
{
    struct key key = {{what, a, b}};
    if (keymap_get(&x->names, key) == KEYMAP_NONE && keymap_put(&x->names, key, value) < 0)
        return err_set(x->k->e, "out of memory");
    return 0;
}

static uint32_t find(const struct rocprof *x, int64_t what, int64_t a, int64_t b)
{
    return keymap_get(&x->names, (struct key){{what, a, b}});
}

/* ---- what records refer to ---- */

static int take_agent(struct rocprof *x, struct record *r)
{
    if (r->at[TYPE] == CPU_AGENT || r->at[ORDINAL] < 0 || r->at[ORDINAL] > UINT16_MAX)
        return 0;
    struct kineto_device d = {.process = x->k->process,
                              .ordinal = r->at[ORDINAL],
                              .cc_major = -1,
                              .cc_minor = -1,
                              .sm_count = r->at[UNITS],
                              .name = r->name};
    return keep(x, OF_AGENT, r->at[ID], 0, (uint32_t)r->at[ORDINAL]) < 0
               ? -1
               : kineto_device_add(x->k, &d);
}

static int take_kernel_name(struct rocprof *x, struct record *r)
{
    return r->name ? keep(x, OF_KERNEL, r->at[KERNEL], 0, r->name) : 0;
}

static int take_marker_name(struct rocprof *x, struct record *r)
{
    return r->name ? keep(x, OF_MARKER, r->at[KEY], 0, r->name) : 0;
}

/* Reads the names of operations: one list for each kind, in order of their numbers. */
static int read_operations(struct rocprof *x)
{
    struct json_reader *j = &x->k->json;
    enum json_token t = json_next(j);
    if (t != JSON_ARRAY)
        return t == JSON_ERROR ? -1 : t == JSON_OBJECT ? json_skip_rest(j) : 0;
    for (int64_t kind = 0; (t = json_next(j)) == JSON_OBJECT; kind++) {
        while ((t = json_next(j)) == JSON_KEY) {
            bool wanted = is_key(j, "operations");
            if (!wanted || (t = json_next(j)) != JSON_ARRAY) {
                if (!wanted ? json_skip(j) < 0 : t == JSON_ERROR)
                    return -1;
                continue;
            }
            for (int64_t n = 0; (t = json_next(j)) == JSON_STRING; n++) {
                uint32_t name = kineto_intern_token(x->k);
                if (name == STR_NONE || keep(x, OF_CALL, kind, n, name) < 0)
                    return -1;
            }
            if (t != JSON_ARRAY_END)
                return -1;
        }
        if (t != JSON_OBJECT_END)
            return -1;
    }
    return t == JSON_ARRAY_END ? 0 : -1;
}

/* ---- records ---- */

/* Makes an event with the record's times. */
static struct kineto_event event_of(const struct rocprof *x, const struct record *r,
                                    enum kineto_category category, uint32_t name)
{
    struct kineto_event v;
    kineto_event_clear(&v);
    v.phase = 'X';
    v.category = (uint8_t)category;
    v.name = name == KEYMAP_NONE ? 0 : name;
    v.pid = x->pid;
    v.tid = r->at[THREAD];
    v.correlation = r->at[CORRELATION];
    v.has_ts = v.has_dur = r->at[START] >= 0 && r->at[END] >= r->at[START];
    v.ts_ns = r->at[START];
    v.dur_ns = r->at[END] - r->at[START];
    x->k->events++;
    x->k->objects++;
    return v;
}

static int64_t device_of(const struct rocprof *x, int64_t agent)
{
    uint32_t ordinal = find(x, OF_AGENT, agent, 0);
    return ordinal == KEYMAP_NONE ? -1 : (int64_t)ordinal;
}

/* The HIP stream if it was recorded, otherwise the queue. */
static int64_t stream_of(const struct record *r)
{
    return r->at[STREAM] >= 0 ? r->at[STREAM] : r->at[QUEUE] >= 0 ? r->at[QUEUE] : 0;
}

static int take_dispatch(struct rocprof *x, struct record *r)
{
    struct kineto_event v = event_of(x, r, KINETO_KERNEL, find(x, OF_KERNEL, r->at[KERNEL], 0));
    v.device = device_of(x, r->at[AGENT]);
    v.stream = stream_of(r);
    for (int i = 0; i < 3; i++) {
        int64_t threads = r->at[BLOCK + i] > 0 ? r->at[BLOCK + i] : 1;
        v.block[i] = threads;
        /* HSA counts a grid in threads, not in blocks */
        v.grid[i] = (r->at[GRID + i] + threads - 1) / threads;
    }
    return kineto_put(x->k, &v);
}

static int take_copy(struct rocprof *x, struct record *r)
{
    int64_t from = device_of(x, r->at[SOURCE]), to = device_of(x, r->at[TARGET]);
    struct kineto_event v = event_of(x, r, KINETO_MEMCPY, 0);
    v.device = to >= 0 ? to : from >= 0 ? from : 0;
    v.stream = stream_of(r);
    v.bytes = r->at[BYTES];
    memcpy(v.copy, from < 0 ? to < 0 ? "HtoH" : "HtoD" : to < 0 ? "DtoH" : "DtoD", 5);
    return kineto_put(x->k, &v);
}

static int take_call(struct rocprof *x, struct record *r)
{
    uint32_t name = find(x, OF_CALL, r->at[KIND], r->at[OPERATION]);
    struct kineto_event v = event_of(x, r, KINETO_RUNTIME, name);
    return name == KEYMAP_NONE ? 0 : kineto_put(x->k, &v);
}

static int take_marker(struct rocprof *x, struct record *r)
{
    uint32_t name = find(x, OF_MARKER, r->at[CORRELATION], 0);
    struct kineto_event v = event_of(x, r, KINETO_ANNOTATION, name);
    return name == KEYMAP_NONE ? 0 : kineto_put(x->k, &v);
}

/* ---- the document ---- */

static int read_metadata(struct rocprof *x)
{
    struct record r = {.name = 0};
    enum json_token t = json_next(&x->k->json);
    if (t != JSON_OBJECT)
        return t == JSON_ERROR ? -1 : t == JSON_ARRAY ? json_skip_rest(&x->k->json) : 0;
    memset(r.at, 0xff, sizeof r.at);
    int rc = read_object(x, &r, "", NESTED);
    x->pid = r.at[PID];
    return rc;
}

/* Reads the members of an object; lists are read by the functions in `lists`. strings: the object
 * is "strings", where lists contain names. */
static int read_members(struct rocprof *x, bool strings)
{
    static const struct {
        const char *key;
        take *each;
    } lists[] = {{"agents", take_agent},     {"kernel_symbols", take_kernel_name},
                 {"marker_api", NULL},       {"kernel_dispatch", take_dispatch},
                 {"memory_copy", take_copy}, {"hip_api", take_call}};
    struct json_reader *j = &x->k->json;
    enum json_token t;
    while ((t = json_next(j)) == JSON_KEY) {
        int rc = 1;
        for (size_t i = 0; rc > 0 && i < sizeof lists / sizeof *lists; i++)
            if (is_key(j, lists[i].key))
                rc = read_list(x, lists[i].each ? lists[i].each
                                  : strings     ? take_marker_name
                                                : take_marker);
        if (rc > 0 && is_key(j, "metadata"))
            rc = read_metadata(x);
        else if (rc > 0 && strings && is_key(j, "buffer_records"))
            rc = read_operations(x);
        else if (rc > 0 && (is_key(j, "strings") || is_key(j, "buffer_records"))) {
            bool names = is_key(j, "strings");
            t = json_next(j);
            rc = t == JSON_OBJECT  ? read_members(x, names)
                 : t == JSON_ARRAY ? json_skip_rest(j)
                 : t == JSON_ERROR ? -1
                                   : 0;
        } else if (rc > 0)
            rc = json_skip(j);
        if (rc < 0)
            return -1;
    }
    return t == JSON_OBJECT_END ? 0 : -1;
}

int kineto_rocprof_read(struct kineto *k)
{
    struct rocprof x = {.k = k, .pid = -1};
    enum json_token t = json_next(&k->json);
    int rc = t == JSON_ARRAY ? 0 : -1;
    k->hip = true;
    k->tool = "rocprofv3";
    while (rc == 0 && (t = json_next(&k->json)) == JSON_OBJECT)
        rc = read_members(&x, false);
    keymap_release(&x.names);
    return rc == 0 && t == JSON_ARRAY_END ? 0 : -1;
}
