/* Turns stacks behind long calls into ranges that name the program's line.
 *
 * A ring record comes first: it says which call (CUPTI's correlation) came from which stack. A
 * stack is unwound once, when its bytes arrive. The call's own record comes later, in one of
 * CUPTI's buffers; then a range is put with the call's times. */
#include "analyzer/collector/spool/spool.h"
#include "analyzer/unwind/unwind.h"

#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CALLS = 8192,  /* long calls that wait for their record; a power of two */
    PROBES = 16,   /* slots in which one of them may be */
    STACKS = 4096, /* per process; the agent sends at most 512 */
    PLACE_BYTES = 256,
    MAPS_BYTES = 1 << 24,
};

/* While it unwinds, the collector reads no other records, and a program may have gigabytes of debug
 * information. After this time no more stacks are unwound. */
static const int64_t spend_ns = 5000000000;

struct spool_callers {
    struct unwinder *unwinder;
    bool failed; /* this process cannot be unwound */
    struct VEC(struct stack_place {
        uint64_t stack;
        char text[PLACE_BYTES]; /* "" = not known */
    }) places;
    struct long_call {
        uint32_t correlation, layer; /* correlation 0: the slot is free */
        uint32_t name;               /* sink string id of the range's name */
    } calls[CALLS];
    int64_t unplaced; /* number of calls without a line */
    int64_t spent_ns; /* time spent on unwinding */
};

/* Reads /proc/PID/maps; files in /proc state no size. NULL: the process has ended, though its
 * number may be in use again. */
static char *read_maps(const struct spool *s, size_t *size)
{
    char path[64], *text = NULL;
    snprintf(path, sizeof path, "/proc/%d/maps", s->fixed.pid);
    int fd = spool_has_process(s) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd < 0 ? 0 : 1;
    *size = 0;
    for (size_t room = 0; got > 0 && *size < MAPS_BYTES;) {
        if (*size == room) {
            char *more = realloc(text, room = room ? room * 2 : 1 << 16);
            if (!more)
                break;
            text = more;
        }
        got = read(fd, text + *size, room - *size);
        *size += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    if (*size)
        return text;
    free(text);
    return NULL;
}

static bool open_unwinder(struct spool *s)
{
    struct spool_callers *c = s->callers;
    if (c->unwinder || c->failed)
        return c->unwinder != NULL;
    size_t size;
    char *maps = read_maps(s, &size);
    if (maps)
        c->unwinder = unwind_open(s->fixed.pid, maps, size);
    free(maps);
    c->failed = !c->unwinder;
    return !c->failed;
}

/* Unwinds one stack to the text of its place, "" if not found. Retries with new maps, in case a
 * library was loaded meanwhile. */
static void unwind(struct spool *s, const struct spool_rec_stack *r, const void *bytes, char *text)
{
    struct unwinder *u = s->callers->unwinder;
    text[0] = 0;
    enum unwind_result found = unwind_place(u, r, bytes, text, PLACE_BYTES);
    if (found == UNWIND_UNKNOWN) {
        size_t size;
        char *maps = read_maps(s, &size);
        if (maps) {
            unwind_reload(u, maps, size);
            found = unwind_place(u, r, bytes, text, PLACE_BYTES);
        }
        free(maps);
    }
    if (found != UNWIND_FOUND)
        text[0] = 0;
}

/* Index + 1 of the stack's place, unwound if it is new; 0: not known. */
static uint32_t place_of(struct spool *s, const struct spool_rec_stack *r, const void *bytes)
{
    struct spool_callers *c = s->callers;
    for (size_t i = 0; i < c->places.n; i++)
        if (c->places.at[i].stack == r->stack)
            return (uint32_t)i + 1;
    if (!r->bytes || c->places.n >= STACKS || c->spent_ns > spend_ns)
        return 0;
    int64_t start_ns = clock_monotonic_ns();
    if (!open_unwinder(s))
        return 0;
    struct stack_place *p = vec_push(&c->places);
    if (!p)
        return 0;
    p->stack = r->stack;
    unwind(s, r, bytes, p->text);
    c->spent_ns += clock_monotonic_ns() - start_ns;
    return (uint32_t)c->places.n;
}

static const char *verb_of(const char *function)
{
    return strstr(function, "Synchronize") ? "sync" : strstr(function, "emcpy") ? "copy" : "call";
}

/* Cuts off the version that CUPTI appends, as in cudaMemcpy_v3020. In cuMemcpyDtoH_v2 the
 * version belongs to the name. */
static void cut_version(char *function)
{
    size_t n = strlen(function), digits = 0;
    while (digits < n && function[n - digits - 1] >= '0' && function[n - digits - 1] <= '9')
        digits++;
    if (digits > 3 && n > digits + 2 && strncmp(function + n - digits - 2, "_v", 2) == 0)
        function[n - digits - 2] = 0;
}

static void add_call(struct spool *s, struct spool_out *out, const struct spool_rec_stack *r,
                     const char *place)
{
    char function[96], text[PLACE_BYTES + 128];
    spool_copy_string(s, r->function, function, sizeof function);
    cut_version(function);
    snprintf(text, sizeof text, "%s %s() %s", verb_of(function), function, place);
    struct long_call *at = NULL;
    for (uint32_t i = 0; i < PROBES && !at; i++) {
        struct long_call *one = &s->callers->calls[(r->correlation + i) % CALLS];
        if (!one->correlation)
            at = one;
    }
    if (!at) /* many records were lost; those of the oldest calls will not come */
        at = &s->callers->calls[r->correlation % CALLS];
    *at = (struct long_call){r->correlation, r->layer, spool_intern(out, text)};
}

void spool_add_stack(struct spool *s, struct spool_out *out, const void *record, size_t size)
{
    struct spool_rec_stack r;
    uint8_t bytes[SPOOL_STACK_BYTES];
    if (size >= sizeof r)
        memcpy(&r, record, sizeof r);
    if (size < sizeof r || r.bytes > size - sizeof r || r.bytes > sizeof bytes) {
        s->lost.bad_records++;
        return;
    }
    memcpy(bytes, (const char *)record + sizeof r, r.bytes);
    if (!s->callers && !(s->callers = calloc(1, sizeof *s->callers)))
        return;
    uint32_t place = place_of(s, &r, bytes);
    const char *text = place ? s->callers->places.at[place - 1].text : "";
    if (!*text)
        s->callers->unplaced++;
    else if (r.correlation)
        add_call(s, out, &r, text);
}

void spool_put_caller(struct spool *s, struct spool_out *out, const struct row_api *call)
{
    uint32_t correlation = (uint32_t)call->correlation;
    struct long_call *at = NULL;
    for (uint32_t i = 0; s->callers && correlation && i < PROBES && !at; i++) {
        struct long_call *one = &s->callers->calls[(correlation + i) % CALLS];
        if (one->correlation == correlation && one->layer == call->layer)
            at = one;
    }
    if (!at)
        return;
    struct row_range row = {.id = ++out->ids[ROW_RANGE],
                            .process = call->process,
                            .thread = call->thread,
                            .start_ns = call->start_ns,
                            .end_ns = call->end_ns,
                            .name = at->name,
                            .domain = spool_intern(out, CALLER_DOMAIN)};
    *at = (struct long_call){0};
    spool_put(out, ROW_RANGE, &row);
}

void spool_put_callers_end(struct spool *s, struct spool_out *out)
{
    char text[256] = "long calls of CUDA whose line in the program gpuprof could not tell";
    if (!s->callers || !s->callers->unplaced)
        return;
    const char *why = unwind_missing();
    if (why)
        snprintf(text, sizeof text,
                 "the lines of the program that wait for the GPU are missing: %s", why);
    struct row_health h = {
        ++out->ids[ROW_HEALTH],  s->process,          0, spool_intern(out, "no-stacks"),
        spool_intern(out, text), s->callers->unplaced};
    spool_put(out, ROW_HEALTH, &h);
}

void spool_free_callers(struct spool *s)
{
    if (!s->callers)
        return;
    unwind_close(s->callers->unwinder);
    vec_release(&s->callers->places);
    free(s->callers);
    s->callers = NULL;
}
