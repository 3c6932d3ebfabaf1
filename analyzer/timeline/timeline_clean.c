/* Checks the numbers in rows. Files may contain any values, and the analysis sums them up. The
 * checks here guarantee that no sum of times, bytes or counts of a profile overflows int64. An
 * impossible value is set to "not known", or the row is left out; both are counted. */
#include "analyzer/timeline/build.h"

#include <string.h>

/* Limits of one number, and of the sum over a column. */
#define NUMBER_MAX  ((int64_t)1 << 53)
#define NUMBERS_MAX ((int64_t)1 << 60)

enum bound { BOUND_NONE, BOUND_TIME, BOUND_NUMBER, BOUND_TOTAL };

/* True for ids, bits and numbers that are only compared. */
static bool is_compared(const char *column)
{
    static const char *const names[] = {
        "id",      "process", "thread",      "device",       "stream",     "kernel",
        "context", "flags",   "correlation", "communicator", "event_sync", "throttle_reasons",
        "caller",  "stack",   "state",       "line",         "stretch",    "address"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(column, names[i]) == 0)
            return true;
    return false;
}

static bool is_time(const char *column)
{
    static const char *const names[] = {"start_ns", "end_ns", "time_ns", "gpu_start_ns",
                                        "gpu_end_ns"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(column, names[i]) == 0)
            return true;
    return false;
}

static enum bound bound_of(enum row_kind kind, const struct column *c)
{
    if (c->is_string || is_compared(c->name))
        return BOUND_NONE;
    if (is_time(c->name))
        return BOUND_TIME;
    /* counters that grow, and of which only differences are summed; levels */
    bool level = strcmp(c->name, "in_use_bytes") == 0 || strcmp(c->name, "held_bytes") == 0;
    return kind == ROW_HOST_SAMPLE || level ? BOUND_NUMBER : BOUND_TOTAL;
}

void build_bounds(struct build *b)
{
    for (int k = 0; k < ROW_KINDS; k++)
        for (size_t i = 0; i < tables[k].count; i++)
            b->bound[k][i] = (uint8_t)bound_of((enum row_kind)k, &tables[k].columns[i]);
}

bool clean_total(int64_t v, int64_t most, int64_t *total)
{
    if (v > most - *total)
        return false;
    *total += v;
    return true;
}

static bool number_ok(enum bound bound, int64_t v, int64_t *total)
{
    if (v < -NUMBER_MAX || v > NUMBER_MAX)
        return false;
    return bound == BOUND_NUMBER || clean_total(v < 0 ? -v : v, NUMBERS_MAX, total);
}

bool clean_row(struct build *b, enum row_kind kind, void *row)
{
    const struct table *t = &tables[kind];
    for (size_t i = 0; i < t->count; i++) {
        enum bound bound = b->bound[kind][i];
        char *member = (char *)row + t->columns[i].offset;
        int64_t v;
        if (bound == BOUND_NONE)
            continue;
        memcpy(&v, member, sizeof v);
        if (bound == BOUND_TIME ? tl_is_time(v) : number_ok(bound, v, &b->total[kind][i]))
            continue;
        if (bound == BOUND_TIME && kind != ROW_PROCESS) {
            b->repairs.absurd++;
            return false;
        }
        b->repairs.numbers++;
        v = bound == BOUND_TIME ? 0 : -1;
        memcpy(member, &v, sizeof v);
    }
    return true;
}

bool is_os_call(const struct build *b, const struct row_range *r)
{
    return r->domain < b->t.strings.n && strcmp(str_text(&b->t.strings, r->domain), OS_DOMAIN) == 0;
}

int put_os_call(struct build *b, const struct row_range *r, int64_t end_ns)
{
    struct row_range *call = vec_push(&b->os_calls);
    if (!call)
        return -1;
    *call = *r;
    call->end_ns = end_ns;
    call->name = r->name < b->t.strings.n ? r->name : 0;
    return 0;
}

uint8_t clean_shared(const struct row_kernel *k)
{
    int64_t bytes = 0;
    if (k->smem_static > 0 && k->smem_static <= INT32_MAX)
        bytes += k->smem_static;
    if (k->smem_dynamic > 0 && k->smem_dynamic <= INT32_MAX)
        bytes += k->smem_dynamic;
    return (uint8_t)(bytes / 1024 < UINT8_MAX ? (bytes + 1023) / 1024 : UINT8_MAX);
}
