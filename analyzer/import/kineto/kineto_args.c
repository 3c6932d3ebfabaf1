/* Reads the arguments of one event of a Kineto trace: "args": {"device": 0, "stream": 7, ..}. Those of
 * operators are shapes (kineto_shapes.c). Cost: one look-up for each key. */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"

#include <string.h>

/* The keys of args that a GPU or API event may have, and how each is read. */
enum arg_type { ARG_INT, ARG_THREE, ARG_CHARS, ARG_NAME, ARG_GRAPH, ARG_GROUP, ARG_RANKS };
#define ARG(text, type, field)                                                                     \
    {                                                                                              \
        text, ARG_##type, offsetof(struct kineto_event, field),                                    \
            sizeof((struct kineto_event *)0)->field                                                \
    }
static const struct arg {
    const char *key;
    enum arg_type type;
    size_t offset, size;
} args[] = {
    ARG("grid", THREE, grid),
    ARG("block", THREE, block),
    ARG("kind", CHARS, copy),
    ARG("copy kind", CHARS, copy), /* PyTorch's monitor */
    ARG("src kind", CHARS, memory[0]),
    ARG("dst kind", CHARS, memory[1]),
    ARG("name", CHARS, label),
    ARG("dtype", CHARS, dtype),
    ARG("memcpy_details", CHARS, label),
    ARG("bytes", INT, bytes),
    ARG("message (bytes)", INT, bytes), /* the size of a collective in gpuprof's own exports */
    ARG("device", INT, device),
    ARG("Device Id", INT, device),
    ARG("Device Type", INT, device_type),
    ARG("stream", INT, stream),
    ARG("context", INT, context),
    ARG("correlation", INT, correlation),
    ARG("correlation_id", INT, correlation),
    ARG("wait_on_cuda_event_record_corr_id", INT, wait_correlation),
    ARG("wait_on_cuda_event_id", INT, wait_event),
    ARG("wait_on_stream", INT, wait_stream),
    ARG("step_num", INT, step),
    ARG("graph id", INT, graph),
    ARG("graph node id", INT, graph_node),
    ARG("in graph", GRAPH, graph),
    ARG("whole graph", GRAPH, graph),
    ARG("Group size", INT, ranks),
    ARG("In msg nelems", INT, elements),
    ARG("Collective name", NAME, collective),
    ARG("Process Group Name", GROUP, group_hash),
    ARG("Process Group Description", NAME, group_label),
    ARG("Process Group Ranks", RANKS, group_hash),
    ARG("Rank", INT, rank),
    ARG("Src Rank", INT, from_rank),
    ARG("Dst Rank", INT, to_rank),
    ARG("Seq", INT, sequence),
    ARG("shared memory", INT, smem),
    ARG("registers per thread", INT, registers),
    ARG("Total Reserved", INT, reserved),
    ARG("Total Allocated", INT, in_use),
    ARG("Bytes", INT, piece),
    ARG("Addr", INT, address),
    ARG("pid_raw", INT, pid_raw),
    ARG("rank", INT, fused_rank),
};

static int take_int(struct kineto *k, struct kineto_event *v, int64_t *out)
{
    enum json_token t = json_next(&k->json);
    if (t == JSON_ERROR)
        return -1;
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(&k->json);
    if (t == JSON_NUMBER || t == JSON_STRING) {
        if (!json_int64(k->json.text, k->json.length, out)) {
            *out = -1;
            v->bad_number |= t == JSON_NUMBER;
        }
    }
    return 0;
}

/* Reads the three numbers of a grid or block, and skips anything else. */
static int take_three(struct kineto *k, int64_t out[3])
{
    enum json_token t = json_next(&k->json);
    if (t == JSON_OBJECT)
        return json_skip_rest(&k->json);
    if (t != JSON_ARRAY)
        return t == JSON_ERROR ? -1 : 0;
    for (int i = 0;; i++) {
        t = json_next(&k->json);
        if (t == JSON_ARRAY_END)
            return 0;
        if (t == JSON_ERROR)
            return -1;
        if (t == JSON_ARRAY || t == JSON_OBJECT) {
            if (json_skip_rest(&k->json) < 0)
                return -1;
        } else if (i < 3 && t == JSON_NUMBER) {
            json_int64(k->json.text, k->json.length, &out[i]);
        }
    }
}

static int take_chars(struct kineto *k, char *out, size_t size)
{
    enum json_token t = json_next(&k->json);
    if (t == JSON_ERROR)
        return -1;
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(&k->json);
    size_t n = k->json.length < size - 1 ? k->json.length : size - 1;
    memcpy(out, k->json.text, t == JSON_STRING ? n : 0);
    out[t == JSON_STRING ? n : 0] = 0;
    return 0;
}

static int take_name(struct kineto *k, uint32_t *out)
{
    enum json_token t = json_next(&k->json);
    if (t == JSON_ERROR)
        return -1;
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(&k->json);
    *out = kineto_intern_token(k);
    return *out == STR_NONE ? -1 : 0;
}

/* gpuprof's own exports only state that a graph launched it, so all graphs get the number 1. */
static int take_graph_flag(struct kineto *k, struct kineto_event *v)
{
    enum json_token t = json_next(&k->json);
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(&k->json);
    if (t == JSON_TRUE && v->graph <= 0)
        v->graph = 1;
    return t == JSON_ERROR ? -1 : 0;
}

/* Reads the value of one key of args. */
static int read_arg(struct kineto *k, struct kineto_event *v)
{
    const struct word *w = words_find(&k->words.args, k->json.text, k->json.length);
    if (!w)
        return json_skip(&k->json);
    const struct arg *arg = &args[w->value];
    void *field = (char *)v + arg->offset;
    switch (arg->type) {
    case ARG_INT:
        return take_int(k, v, field);
    case ARG_THREE:
        return take_three(k, field);
    case ARG_CHARS:
        return take_chars(k, field, arg->size);
    case ARG_NAME:
        return take_name(k, field);
    case ARG_GROUP:
        return kineto_take_group_name(k, v);
    case ARG_RANKS:
        return kineto_take_group_ranks(k, v);
    default:
        return take_graph_flag(k, v);
    }
}

/* Reads "train.py:12", the line that calls. */
static int take_caller(struct kineto *k, struct kineto_event *v)
{
    enum json_token t = json_next(&k->json);
    const char *text = k->json.text;
    size_t n = k->json.length, at = n;
    if (t == JSON_ERROR)
        return -1;
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(&k->json);
    while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
        at--;
    if (t != JSON_STRING || at < 2 || text[at - 1] != ':' ||
        !json_int64(text + at, n - at, &v->from_line))
        return 0;
    v->from_file = str_hash(text, at - 1);
    return 0;
}

/* Reads the rest of the arguments of a Python function's call. */
static int read_caller(struct kineto *k, struct kineto_event *v)
{
    enum json_token t;
    while ((t = json_next_of(&k->json, &k->words.caller)) == JSON_KEY)
        if (take_caller(k, v) < 0)
            return -1;
    return t == JSON_OBJECT_END ? 0 : -1;
}

int kineto_args_read(struct kineto *k, struct kineto_event *v)
{
    if (v->category == KINETO_CPU_OP)
        return kineto_shapes_read(k, v);
    if (v->category == KINETO_ANNOTATION)
        return json_skip(&k->json);
    enum json_token t = json_next(&k->json);
    if (t != JSON_OBJECT)
        return t == JSON_ERROR ? -1 : t == JSON_ARRAY ? json_skip_rest(&k->json) : 0;
    if (v->category == KINETO_PYTHON)
        return read_caller(k, v);
    while ((t = json_next(&k->json)) == JSON_KEY)
        if (read_arg(k, v) < 0)
            return -1;
    return t == JSON_OBJECT_END ? 0 : -1;
}

void kineto_args_words(struct kineto *k)
{
    const size_t count = sizeof args / sizeof *args;
    static const struct word caller[] = {WORD("CallFrom", 0)};
    struct word *w = k->words.arg;
    _Static_assert(sizeof args / sizeof *args <= KINETO_ARGS, "room for every key of args");
    for (size_t i = 0; i < count; i++)
        w[i] = (struct word){args[i].key, (uint8_t)strlen(args[i].key), (uint8_t)i};
    words_index(&k->words.args, w, count);
    words_index(&k->words.caller, caller, 1);
}
