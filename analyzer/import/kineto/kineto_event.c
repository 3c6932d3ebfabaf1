/* Reads one event of a Kineto trace:
 *
 *   {"ph": "X", "cat": "kernel", "name": .., "pid": .., "tid": .., "ts": .., "dur": ..,
 *    "args": {..}}
 *
 * Keys may come in any order. Knows the spellings of four generations: categories of 2021 (Kernel,
 * Runtime, Operator) and of today, "external id" in either case, pid and tid as numbers or texts.
 * Cost: one pass over the text; events that make no row are skipped byte by byte. */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define NODE "autograd::engine::evaluate_function: "

static bool is(const struct json_reader *j, const char *word)
{
    size_t n = strlen(word);
    return j->length == n && memcmp(j->text, word, n) == 0;
}

enum field {
    FIELD_PH,
    FIELD_TS,
    FIELD_CAT,
    FIELD_DUR,
    FIELD_NAME,
    FIELD_PID,
    FIELD_TID,
    FIELD_ARGS
};

static const struct word fields[] = {
    WORD("ph", FIELD_PH),     WORD("ts", FIELD_TS),     WORD("cat", FIELD_CAT),
    WORD("dur", FIELD_DUR),   WORD("pid", FIELD_PID),   WORD("tid", FIELD_TID),
    WORD("name", FIELD_NAME), WORD("args", FIELD_ARGS),
};

static const struct word categories[] = {
    WORD("kernel", KINETO_KERNEL),
    WORD("cpu_op", KINETO_CPU_OP),
    WORD("cuda_runtime", KINETO_RUNTIME),
    WORD("python_function", KINETO_PYTHON),
    WORD("ac2g", KINETO_SKIP),
    WORD("cuda_driver", KINETO_DRIVER),
    WORD("gpu_memcpy", KINETO_MEMCPY),
    WORD("gpu_memset", KINETO_MEMSET),
    WORD("user_annotation", KINETO_ANNOTATION),
    WORD("cuda_sync", KINETO_SYNC),
    WORD("overhead", KINETO_OVERHEAD),
    WORD("Kernel", KINETO_KERNEL),
    WORD("Memcpy", KINETO_MEMCPY),
    WORD("Memset", KINETO_MEMSET),
    WORD("Runtime", KINETO_RUNTIME),
    WORD("Operator", KINETO_CPU_OP),
    WORD("hip_runtime", KINETO_RUNTIME),
    WORD("hip_driver", KINETO_DRIVER),
    WORD("gpu_user_annotation", KINETO_SKIP),
    WORD("cpu_instant_event", KINETO_INSTANT),
    WORD("xpu_runtime", KINETO_RUNTIME),
    WORD("xpu_driver", KINETO_DRIVER),
    WORD("privateuse1_runtime", KINETO_RUNTIME),
    WORD("privateuse1_driver", KINETO_DRIVER),
    WORD("fwdbwd", KINETO_SKIP),
    WORD("async", KINETO_SKIP),
    WORD("async_cpu_to_gpu", KINETO_SKIP),
    WORD("Trace", KINETO_SKIP),
    WORD("cuda_event", KINETO_SKIP),
    WORD("gpuprof", KINETO_SKIP), /* what gpuprof's own export adds for other readers */
};

uint32_t kineto_intern_token(struct kineto *k)
{
    const char *text = k->json.text;
    size_t n = k->json.length;
    if (k->json.escaped) {
        if (n > k->scratch_cap) {
            char *p = realloc(k->scratch, n * 2);
            if (!p)
                return err_set(k->e, "out of memory"), STR_NONE;
            k->scratch = p;
            k->scratch_cap = n * 2;
        }
        n = json_unescape(text, n, k->scratch);
        text = k->scratch;
    }
    return k->out->intern(k->out->self, text, n);
}

/* Returns the first number in s[*at..n) and moves *at behind it; -1: no digit. */
static int64_t number_in(const char *s, size_t n, size_t *at)
{
    int64_t v = -1;
    size_t i = *at;
    while (i < n && (s[i] < '0' || s[i] > '9'))
        i++;
    for (*at = i; *at < n && s[*at] >= '0' && s[*at] <= '9'; ++*at)
        ;
    return *at > i && json_int64(s + i, *at - i, &v) ? v : -1;
}

/* pid or tid: a number, or a text such as "stream 7" or "25738". -1: no digit in it. */
static int64_t id_of(const struct json_reader *j, enum json_token t)
{
    int64_t v = -1;
    size_t at = 0;
    if (t == JSON_NUMBER)
        return json_int64(j->text, j->length, &v) ? v : -1;
    return number_in(j->text, j->length, &at);
}

/* Reads a pid, which merging tools may prefix with a rank: "[TP01] 25738". */
static int take_pid(struct kineto *k, struct kineto_event *v, enum json_token t)
{
    const struct json_reader *j = &k->json;
    const char *close =
        t == JSON_STRING && j->length && *j->text == '[' ? memchr(j->text, ']', j->length) : NULL;
    if (!close) {
        v->pid = id_of(j, t);
        return 0;
    }
    size_t n = (size_t)(close - j->text), at = 0;
    v->group_rank = number_in(j->text, n, &at);
    if (number_in(j->text, n, &at) >= 0)
        v->group_rank = -1;
    at = n;
    v->pid = number_in(j->text, j->length, &at);
    v->group = k->out->intern(k->out->self, j->text, n + 1);
    return v->group == STR_NONE ? err_set(k->e, "out of memory") : 0;
}

/* Reads the value of a key of the event. */
static int read_field(struct kineto *k, struct kineto_event *v)
{
    struct json_reader *j = &k->json;
    const struct word *w, *field = words_find(&k->words.fields, j->text, j->length);
    if (!field)
        return json_skip(j);
    if (field->value == FIELD_ARGS)
        return kineto_args_read(k, v);
    enum json_token t = json_next(j);
    if (t == JSON_ERROR)
        return -1;
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(j);
    switch ((enum field)field->value) {
    case FIELD_PH:
        v->phase = j->length == 1 ? j->text[0] : '?';
        break;
    case FIELD_CAT:
        k->xpu |= j->length > 4 && memcmp(j->text, "xpu_", 4) == 0;
        w = words_find(&k->words.categories, j->text, j->length);
        v->category = w ? w->value : KINETO_UNKNOWN;
        break;
    case FIELD_NAME: {
        v->is_thread_name = is(j, "thread_name");
        v->is_process_name = is(j, "process_name");
        v->is_memory = is(j, "[memory]");
        size_t n = j->length < sizeof v->head - 1 ? j->length : sizeof v->head - 1;
        memcpy(v->head, j->text, n);
        v->head[n] = 0;
        v->is_node = strncmp(v->head, NODE, sizeof NODE - 1) == 0;
        bool call = (v->category == KINETO_PYTHON || v->category == KINETO_UNKNOWN) && !j->escaped;
        v->name = call ? kineto_frames_name(k, j->text, j->length) : kineto_intern_token(k);
        return v->name == STR_NONE ? -1 : 0;
    }
    case FIELD_PID:
        return take_pid(k, v, t);
    case FIELD_TID:
        v->tid = id_of(j, t);
        break;
    case FIELD_TS:
        v->has_ts = json_thousandths(j->text, j->length, &v->ts_ns);
        v->bad_number |= !v->has_ts;
        break;
    default:
        v->has_dur = json_thousandths(j->text, j->length, &v->dur_ns);
        v->bad_number |= !v->has_dur;
        break;
    }
    return 0;
}

/* True as soon as the keys read so far show that the event makes no row;
 * its rest is then skipped. */
static bool makes_no_row(const struct kineto_event *v)
{
    if (v->category == KINETO_INSTANT || v->phase == 'i')
        return (v->category != KINETO_INSTANT && v->category != KINETO_UNKNOWN) ||
               (v->name && !v->is_memory) || (v->phase && v->phase != 'i');
    return (v->phase && v->phase != 'X' && v->phase != 'M') || v->category == KINETO_SKIP;
}

void kineto_event_words(struct kineto *k)
{
    kineto_args_words(k);
    kineto_shapes_words(k);
    words_index(&k->words.fields, fields, sizeof fields / sizeof *fields);
    words_index(&k->words.categories, categories, sizeof categories / sizeof *categories);
}

void kineto_event_clear(struct kineto_event *v)
{
    *v = (struct kineto_event){.category = KINETO_UNKNOWN, .pid = -1, .tid = -1, .device = -1};
    v->stream = v->context = v->bytes = v->registers = v->smem = -1;
    v->wait_event = v->wait_stream = -1;
    v->wait_correlation = v->ranks = v->elements = v->group_rank = -1;
    v->reserved = v->device_type = v->step = v->pid_raw = v->fused_rank = -1;
    v->sequence = v->rank = v->from_rank = v->to_rank = v->in_use = v->address = -1;
}

int kineto_event_read(struct kineto *k, struct kineto_event *v)
{
    kineto_event_clear(v);
    k->shapes.inputs = k->shapes.types = k->shapes.values = k->shapes.lists = 0;
    k->shapes.used = 0;
    enum json_token t;
    while ((t = json_next(&k->json)) == JSON_KEY) {
        if (read_field(k, v) < 0)
            return -1;
        if (makes_no_row(v))
            return json_skip_rest(&k->json);
    }
    return t == JSON_OBJECT_END ? 0 : -1;
}
