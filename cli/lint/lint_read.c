/* Reads a Chrome trace for lint, and checks each event by itself. */
#include "cli/lint/lint.h"

#include "base/json_read.h"
#include "base/plain.h"
#include "base/str.h"
#include "report/chars.h"
#include "report/terminal/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct event {
    char ph;
    char cat[32], name[64];
    int64_t pid, tid, start_ns, length_ns, id;
    bool has_pid, has_tid, has_ts, has_dur, has_id, has_cat, has_stream, bound_enclosing;
};

struct reading {
    struct lint *l;
    struct json_reader r;
    struct event v;
};

void lint_found(struct lint *l, enum lint_rule rule, uint64_t event, const char *fmt, ...)
{
    if (l->count[rule]++)
        return;
    va_list ap;
    int n = event ? snprintf(l->example[rule], sizeof l->example[rule],
                             "event %llu: ", (unsigned long long)event)
                  : 0;
    va_start(ap, fmt);
    vsnprintf(l->example[rule] + n, sizeof l->example[rule] - (size_t)n, fmt, ap);
    va_end(ap);
    terminal_clean(l->example[rule]);
}

static void check_text(struct reading *g)
{
    const char *s = g->r.text;
    for (size_t i = 0; i < g->r.length;) {
        uint32_t code;
        size_t n = utf8_next(s + i, g->r.length - i, &code);
        if (code == 0xfffd && n == 1)
            lint_found(g->l, LINT_F2, g->l->events, "a text that is not UTF-8");
        else if (code < 0x20)
            lint_found(g->l, LINT_F2, g->l->events, "a control character in a text");
        i += n;
    }
}

static void copy_text(struct reading *g, char *out, size_t n)
{
    size_t len = g->r.length < n - 1 ? g->r.length : n - 1;
    memcpy(out, g->r.text, len);
    out[len] = 0;
}

static void take_id(struct reading *g, enum json_token t, const char *key, int64_t *out, bool *has)
{
    struct lint *l = g->l;
    *has = true;
    if (t == JSON_STRING) {
        lint_found(l, LINT_I3, l->events, "%s is the text \"%.*s\"", key,
                   (int)(g->r.length < 40 ? g->r.length : 40), g->r.text);
        *has = false;
    } else if (t != JSON_NUMBER || memchr(g->r.text, '.', g->r.length) ||
               !json_int64(g->r.text, g->r.length, out) || *out < 0 || *out > UINT32_MAX) {
        lint_found(l, LINT_I1, l->events, "%s is %.*s", key, (int)g->r.length, g->r.text);
        *has = false;
    }
}

static void take_time(struct reading *g, enum json_token t, const char *key, int64_t *out,
                      bool *has)
{
    struct lint *l = g->l;
    const char *dot = t == JSON_NUMBER ? memchr(g->r.text, '.', g->r.length) : NULL;
    *has = t == JSON_NUMBER && json_thousandths(g->r.text, g->r.length, out);
    if (!*has)
        lint_found(l, LINT_T1, l->events, "%s is not a number", key);
    else if (*out < 0)
        lint_found(l, LINT_T1, l->events, "%s is negative", key);
    else if (!dot || (size_t)(g->r.text + g->r.length - dot) != 4)
        lint_found(l, LINT_T1, l->events, "%s is %.*s: not three decimals", key, (int)g->r.length,
                   g->r.text);
    else if (*out > INT64_C(100) * 86400 * 1000000000)
        lint_found(l, LINT_T2, l->events, "%s is %.*s: over 100 days", key, (int)g->r.length,
                   g->r.text);
}

static int take_args(struct reading *g, enum json_token t)
{
    if (t != JSON_OBJECT) {
        lint_found(g->l, LINT_C2, g->l->events, "args is not an object");
        return t == JSON_ARRAY ? json_skip_rest(&g->r) : 0;
    }
    while ((t = json_next(&g->r)) == JSON_KEY) {
        if (g->r.length == 6 && memcmp(g->r.text, "stream", 6) == 0)
            g->v.has_stream = true;
        t = json_next(&g->r);
        if (t == JSON_STRING)
            check_text(g);
        if (t == JSON_NUMBER && strchr("NI", g->r.text[g->r.text[0] == '-']))
            lint_found(g->l, LINT_F2, g->l->events, "a number that is not finite");
        if ((t == JSON_OBJECT || t == JSON_ARRAY) && json_skip_rest(&g->r))
            return -1;
    }
    return t == JSON_OBJECT_END ? 0 : -1;
}

static int take_field(struct reading *g, const char *key, enum json_token t)
{
    struct event *v = &g->v;
    if (t == JSON_STRING)
        check_text(g);
    if (strcmp(key, "ph") == 0 && t == JSON_STRING && g->r.length == 1)
        v->ph = g->r.text[0];
    else if (strcmp(key, "cat") == 0 && t == JSON_STRING) {
        copy_text(g, v->cat, sizeof v->cat);
        v->has_cat = g->r.length > 0;
    } else if (strcmp(key, "name") == 0 && t == JSON_STRING)
        copy_text(g, v->name, sizeof v->name);
    else if (strcmp(key, "bp") == 0 && t == JSON_STRING)
        v->bound_enclosing = g->r.length == 1 && g->r.text[0] == 'e';
    else if (strcmp(key, "pid") == 0)
        take_id(g, t, key, &v->pid, &v->has_pid);
    else if (strcmp(key, "tid") == 0)
        take_id(g, t, key, &v->tid, &v->has_tid);
    else if (strcmp(key, "id") == 0) {
        v->has_id = t == JSON_NUMBER && json_int64(g->r.text, g->r.length, &v->id);
        if (!v->has_id)
            lint_found(g->l, LINT_L1, g->l->events, "the id of a flow is not an integer");
    } else if (strcmp(key, "ts") == 0)
        take_time(g, t, key, &v->start_ns, &v->has_ts);
    else if (strcmp(key, "dur") == 0)
        take_time(g, t, key, &v->length_ns, &v->has_dur);
    else if (strcmp(key, "args") == 0)
        return take_args(g, t);
    if ((t == JSON_OBJECT || t == JSON_ARRAY))
        return json_skip_rest(&g->r);
    return 0;
}

static void keep_slice(struct reading *g)
{
    struct lint *l = g->l;
    const struct event *v = &g->v;
    if (!v->has_dur)
        lint_found(l, LINT_T5, l->events, "\"%s\" has no dur", v->name);
    if (!v->has_cat)
        lint_found(l, LINT_C3, l->events, "\"%s\" has no cat", v->name);
    if (v->tid == 0 && v->pid != 0 && v->has_tid)
        lint_found(l, LINT_I2, l->events, "\"%s\" is on tid 0", v->name);
    if (strcmp(v->cat, "Kernel") == 0)
        lint_found(l, LINT_V1, l->events, "category Kernel is spelt kernel");
    bool gpu =
        !strcmp(v->cat, "kernel") || !strcmp(v->cat, "gpu_memcpy") || !strcmp(v->cat, "gpu_memset");
    if (gpu && !v->has_stream)
        lint_found(l, LINT_V1, l->events, "\"%s\" has no args.stream", v->name);
    if (!strcmp(v->cat, "gpu_user_annotation") && !strncmp(v->name, "ProfilerStep#", 13))
        lint_found(l, LINT_V1, l->events, "a step as gpu_user_annotation counts twice");
    if (!v->has_pid || !v->has_tid || !v->has_ts || !v->has_dur || v->length_ns < 0)
        return;
    struct lint_slice *s = vec_push(&l->slices);
    if (!s) {
        l->out_of_memory = true;
        return;
    }
    bool step = strncmp(v->name, "ProfilerStep#", 13) == 0;
    *s = (struct lint_slice){v->pid,    v->tid, v->start_ns, v->start_ns + v->length_ns,
                             l->events, step};
}

static void keep_flow(struct reading *g)
{
    struct lint *l = g->l;
    const struct event *v = &g->v;
    if (v->ph == 'f' && !v->bound_enclosing)
        lint_found(l, LINT_L2, l->events, "flow %lld ends without \"bp\": \"e\"", (long long)v->id);
    if (!v->has_id)
        return;
    struct lint_flow *f = vec_push(&l->flows);
    if (!f) {
        l->out_of_memory = true;
        return;
    }
    *f = (struct lint_flow){.pid = v->pid,
                            .tid = v->tid,
                            .at_ns = v->start_ns,
                            .id = v->id,
                            .at = l->events,
                            .category = str_hash(v->cat, strlen(v->cat)),
                            .finish = v->ph == 'f'};
}

static int take_event(struct reading *g)
{
    enum json_token t;
    g->l->events++;
    g->v = (struct event){0};
    while ((t = json_next(&g->r)) == JSON_KEY) {
        char key[16];
        copy_text(g, key, sizeof key);
        if ((t = json_next(&g->r)) <= JSON_END || take_field(g, key, t))
            return -1;
    }
    if (t != JSON_OBJECT_END)
        return -1;
    if (g->v.ph == 'X')
        keep_slice(g);
    else if (g->v.ph == 's' || g->v.ph == 'f')
        keep_flow(g);
    else if (g->v.ph == 'B' || g->v.ph == 'E')
        lint_found(g->l, LINT_N1, g->l->events, "ph %c", g->v.ph);
    if (!g->v.ph)
        lint_found(g->l, LINT_V1, g->l->events, "an event without ph");
    return 0;
}

static int take_events(struct reading *g)
{
    enum json_token t;
    g->l->has_events = true;
    while ((t = json_next(&g->r)) == JSON_OBJECT)
        if (take_event(g))
            return -1;
    return t == JSON_ARRAY_END ? 0 : -1;
}

static int take_document(struct reading *g)
{
    enum json_token t = json_next(&g->r);
    if (t == JSON_ARRAY) {
        lint_found(g->l, LINT_F1, 0, "a bare array of events: no header, no rank");
        return take_events(g);
    }
    if (t != JSON_OBJECT)
        return -1;
    while ((t = json_next(&g->r)) == JSON_KEY) {
        bool events = g->r.length == 11 && memcmp(g->r.text, "traceEvents", 11) == 0;
        if (!events && json_skip(&g->r))
            return -1;
        if (events && (json_next(&g->r) != JSON_ARRAY || take_events(g)))
            return -1;
    }
    return t == JSON_OBJECT_END && json_next(&g->r) == JSON_END ? 0 : -1;
}

static ssize_t fill(void *ctx, void *buf, size_t n)
{
    return gzread(ctx, buf, (unsigned)(n < 1 << 20 ? n : 1 << 20));
}

/* HTA finds the rank by a line that matches "rank":\s+N, so the header must have that form. */
static void check_head(struct lint *l, gzFile gz)
{
    char head[8192];
    int n = gzread(gz, head, sizeof head - 1);
    head[n > 0 ? n : 0] = 0;
    const char *rank = strstr(head, "\"rank\":");
    if (rank && rank[7] != ' ')
        lint_found(l, LINT_F1, 0, "minified: \"rank\": needs a space after the colon");
    if (strstr(head, "\"traceEvents\"") && !rank && !strstr(head, "deviceProperties"))
        lint_found(l, LINT_F1, 0, "no header keys before traceEvents");
    gzrewind(gz);
}

int lint_read(struct lint *l, const char *path, struct err *e)
{
    struct reading g = {.l = l};
    size_t n = strlen(path);
    gzFile gz = gzdopen(plain_open(path), "rb");
    if (!gz)
        return err_set(e, "%s: no such file, or no permission to read it", path);
    if (!(n > 5 && !strcmp(path + n - 5, ".json")) && !(n > 8 && !strcmp(path + n - 8, ".json.gz")))
        lint_found(l, LINT_F4, 0, "the name ends neither in .json nor in .json.gz");
    check_head(l, gz);
    int rc = -1;
    if (json_read_open(&g.r, fill, gz, 64 << 20) == 0) {
        rc = take_document(&g);
        if (rc && g.r.offset + g.r.pos == 0 && gzeof(gz))
            err_set(e, "%s: empty file", path);
        else if (rc)
            err_set(e, "%s is not a complete Chrome trace: %s at byte %llu", path,
                    g.r.error ? g.r.error : "unexpected value",
                    (unsigned long long)(g.r.offset + g.r.pos));
        else if (!l->has_events)
            rc = err_set(e, "%s has no traceEvents", path);
        json_read_close(&g.r);
    } else {
        err_set(e, "out of memory");
    }
    gzclose(gz);
    if (rc == 0 && l->out_of_memory)
        rc = err_set(e, "out of memory");
    return rc;
}

void lint_release(struct lint *l)
{
    vec_release(&l->slices);
    vec_release(&l->flows);
}
