/* One event of a Kineto trace: {"ph": "X", "cat": "kernel", "name": .., "pid": .., "tid": .., "ts":
 * .., "dur":
 * .., "args": {..}}, keys in any order. Spelling of four generations: categories as of 2021
 * (Kernel, Runtime, Operator) and of today, "external id" in either case, pid and tid as numbers or
 * texts. Cost: one pass over the text; events that make no row are skipped at the byte level.
 */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static bool is(const struct json_reader *j, const char *word)
{
    size_t n = strlen(word);
    return j->length == n && memcmp(j->text, word, n) == 0;
}

static uint8_t category_of(const struct json_reader *j)
{
    static const struct {
        const char *word;
        uint8_t category;
    } known[] = {
        {"kernel", KINETO_KERNEL},
        {"cpu_op", KINETO_CPU_OP},
        {"cuda_runtime", KINETO_RUNTIME},
        {"python_function", KINETO_PYTHON},
        {"ac2g", KINETO_SKIP},
        {"cuda_driver", KINETO_DRIVER},
        {"gpu_memcpy", KINETO_MEMCPY},
        {"gpu_memset", KINETO_MEMSET},
        {"user_annotation", KINETO_ANNOTATION},
        {"cuda_sync", KINETO_SYNC},
        {"overhead", KINETO_OVERHEAD},
        {"Kernel", KINETO_KERNEL},
        {"Memcpy", KINETO_MEMCPY},
        {"Memset", KINETO_MEMSET},
        {"Runtime", KINETO_RUNTIME},
        {"Operator", KINETO_CPU_OP},
        {"hip_runtime", KINETO_RUNTIME},
        {"hip_driver", KINETO_DRIVER},
        {"gpu_user_annotation", KINETO_SKIP},
        {"cpu_instant_event", KINETO_INSTANT},
        {"xpu_runtime", KINETO_RUNTIME},
        {"xpu_driver", KINETO_DRIVER},
        {"privateuse1_runtime", KINETO_RUNTIME},
        {"privateuse1_driver", KINETO_DRIVER},
        {"fwdbwd", KINETO_SKIP},
        {"async", KINETO_SKIP},
        {"async_cpu_to_gpu", KINETO_SKIP},
        {"Trace", KINETO_SKIP},
        {"cuda_event", KINETO_SKIP},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is(j, known[i].word))
            return known[i].category;
    return KINETO_UNKNOWN;
}

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

/* The first number in s[*at..n), and *at behind it; -1 when there is no digit. */
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

/* pid or tid: a number, or a text such as "stream 7" or "25738". -1 when there is no digit in it.
 */
static int64_t id_of(const struct json_reader *j, enum json_token t)
{
    int64_t v = -1;
    size_t at = 0;
    if (t == JSON_NUMBER)
        return json_int64(j->text, j->length, &v) ? v : -1;
    return number_in(j->text, j->length, &at);
}

/* A pid that merging tools put a rank before: "[TP01] 25738". */
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

/* Our own exports say that a graph launched it, not which: they number them all 1. */
static int take_graph_flag(struct kineto *k, struct kineto_event *v)
{
    enum json_token t = json_next(&k->json);
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(&k->json);
    if (t == JSON_TRUE && v->graph <= 0)
        v->graph = 1;
    return t == JSON_ERROR ? -1 : 0;
}

/* One key of args that a GPU or API event may have. */
static int read_arg(struct kineto *k, struct kineto_event *v)
{
    const struct json_reader *j = &k->json;
    switch (j->length) {
    case 4:
        if (is(j, "grid"))
            return take_three(k, v->grid);
        if (is(j, "kind"))
            return take_chars(k, v->copy, sizeof v->copy);
        if (is(j, "name"))
            return take_chars(k, v->label, sizeof v->label);
        break;
    case 5:
        if (is(j, "block"))
            return take_three(k, v->block);
        if (is(j, "bytes"))
            return take_int(k, v, &v->bytes);
        if (is(j, "dtype"))
            return take_chars(k, v->dtype, sizeof v->dtype);
        break;
    case 6:
        if (is(j, "device"))
            return take_int(k, v, &v->device);
        if (is(j, "stream"))
            return take_int(k, v, &v->stream);
        break;
    case 7:
        if (is(j, "context"))
            return take_int(k, v, &v->context);
        break;
    case 8:
        if (is(j, "step_num"))
            return take_int(k, v, &v->step);
        if (is(j, "graph id"))
            return take_int(k, v, &v->graph);
        if (is(j, "in graph"))
            return take_graph_flag(k, v);
        break;
    case 9:
        if (is(j, "Device Id"))
            return take_int(k, v, &v->device);
        break;
    case 10:
        if (is(j, "Group size"))
            return take_int(k, v, &v->ranks);
        break;
    case 11:
        if (is(j, "correlation"))
            return take_int(k, v, &v->correlation);
        if (is(j, "Device Type"))
            return take_int(k, v, &v->device_type);
        if (is(j, "whole graph"))
            return take_graph_flag(k, v);
        break;
    case 13:
        if (is(j, "shared memory"))
            return take_int(k, v, &v->smem);
        if (is(j, "graph node id"))
            return take_int(k, v, &v->graph_node);
        if (is(j, "In msg nelems"))
            return take_int(k, v, &v->elements);
        break;
    case 14:
        if (is(j, "correlation_id"))
            return take_int(k, v, &v->correlation);
        if (is(j, "memcpy_details"))
            return take_chars(k, v->label, sizeof v->label);
        if (is(j, "Total Reserved"))
            return take_int(k, v, &v->reserved);
        break;
    case 15:
        if (is(j, "Collective name"))
            return take_name(k, &v->collective);
        break;
    case 20:
        if (is(j, "registers per thread"))
            return take_int(k, v, &v->registers);
        break;
    case 33:
        if (is(j, "wait_on_cuda_event_record_corr_id"))
            return take_int(k, v, &v->wait_correlation);
        break;
    default:
        break;
    }
    return json_skip(&k->json);
}

static int read_args(struct kineto *k, struct kineto_event *v)
{
    if (v->category == KINETO_CPU_OP || v->category == KINETO_PYTHON ||
        v->category == KINETO_ANNOTATION)
        return json_skip(&k->json); /* shapes and stacks: nothing that a row keeps */
    enum json_token t = json_next(&k->json);
    if (t != JSON_OBJECT)
        return t == JSON_ERROR ? -1 : t == JSON_ARRAY ? json_skip_rest(&k->json) : 0;
    while ((t = json_next(&k->json)) == JSON_KEY)
        if (read_arg(k, v) < 0)
            return -1;
    return t == JSON_OBJECT_END ? 0 : -1;
}

/* The value of a top-level key of the event. */
static int read_field(struct kineto *k, struct kineto_event *v)
{
    struct json_reader *j = &k->json;
    enum { OTHER, PH, TS, CAT, DUR, NAME, PID, TID, ARGS } field = OTHER;
    if (j->length == 2)
        field = is(j, "ph") ? PH : is(j, "ts") ? TS : OTHER;
    else if (j->length == 3)
        field = is(j, "cat")   ? CAT
                : is(j, "dur") ? DUR
                : is(j, "pid") ? PID
                : is(j, "tid") ? TID
                               : OTHER;
    else if (j->length == 4)
        field = is(j, "name") ? NAME : is(j, "args") ? ARGS : OTHER;
    if (field == OTHER)
        return json_skip(j);
    if (field == ARGS)
        return read_args(k, v);
    enum json_token t = json_next(j);
    if (t == JSON_ERROR)
        return -1;
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        return json_skip_rest(j);
    switch (field) {
    case PH:
        v->phase = j->length == 1 ? j->text[0] : '?';
        break;
    case CAT:
        k->xpu |= j->length > 4 && memcmp(j->text, "xpu_", 4) == 0;
        v->category = category_of(j);
        break;
    case NAME: {
        v->is_thread_name = is(j, "thread_name");
        v->is_process_name = is(j, "process_name");
        v->is_memory = is(j, "[memory]");
        size_t n = j->length < sizeof v->head - 1 ? j->length : sizeof v->head - 1;
        memcpy(v->head, j->text, n);
        v->head[n] = 0;
        v->name = kineto_intern_token(k);
        return v->name == STR_NONE ? -1 : 0;
    }
    case PID:
        return take_pid(k, v, t);
    case TID:
        v->tid = id_of(j, t);
        break;
    case TS:
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

/* As soon as what was read says so: the rest is skipped. */
static bool makes_no_row(const struct kineto_event *v)
{
    if (v->category == KINETO_INSTANT || v->phase == 'i')
        return (v->category != KINETO_INSTANT && v->category != KINETO_UNKNOWN) ||
               (v->name && !v->is_memory) || (v->phase && v->phase != 'i');
    return (v->phase && v->phase != 'X' && v->phase != 'M') || v->category == KINETO_SKIP;
}

int kineto_event_read(struct kineto *k, struct kineto_event *v)
{
    *v = (struct kineto_event){.category = KINETO_UNKNOWN, .pid = -1, .tid = -1, .device = -1};
    v->stream = v->context = v->bytes = v->registers = v->smem = -1;
    v->wait_correlation = v->ranks = v->elements = v->group_rank = -1;
    v->reserved = v->device_type = v->step = -1;
    enum json_token t;
    while ((t = json_next(&k->json)) == JSON_KEY) {
        if (read_field(k, v) < 0)
            return -1;
        if (makes_no_row(v))
            return json_skip_rest(&k->json);
    }
    return t == JSON_OBJECT_END ? 0 : -1;
}
