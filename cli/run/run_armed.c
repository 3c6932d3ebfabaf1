/* The rows of a window stay in memory (recent.h). When the window is over, a copy of the recorder
 * writes and analyses its profile, so that the recorder itself never stops reading. */
#include "cli/run/run_armed.h"

#include "analyzer/collector/recent.h"
#include "analyzer/profile/place.h"
#include "analyzer/profile/store.h"
#include "analyzer/profile/tables.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/common/command.h"
#include "cli/results/results.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* MOST_BYTES: of the rows in memory, even if --max-size allows more. LOW: the writer's nice value.
 * TRIES: numbers tried for a free name. */
enum { MOST_BYTES = 1 << 30, LOW = 10, TRIES = 1000 };

struct armed {
    const struct record_options *options;
    const struct run_folders *folders;
    struct recent *recent;
    struct str_table texts;
    int64_t number; /* of the newest window */
    struct wish wish;
    bool ends;    /* the asker has recorded enough */
    pid_t writer; /* the process that writes a profile now; 0: none */
};

/* ---- the sink behind `recent`: it numbers texts, and drops rows ---- */

static uint32_t intern(void *self, const char *text, size_t n)
{
    return str_intern(&((struct armed *)self)->texts, text, n);
}

static int drop(void *self, enum row_kind kind, const void *row, struct err *e)
{
    (void)self, (void)kind, (void)row, (void)e;
    return 0;
}

struct armed *armed_open(const struct record_options *o, const struct run_folders *folders,
                         struct err *e)
{
    struct armed *a = calloc(1, sizeof *a);
    if (!a || str_table_init(&a->texts) < 0) {
        free(a);
        err_no_memory(e);
        return NULL;
    }
    a->options = o;
    a->folders = folders;
    a->wish.from.fd = -1;
    struct sink inner = {.self = a, .intern = intern, .put = drop};
    a->recent = recent_open(inner, SIZE_MAX, e);
    if (a->recent)
        return a;
    armed_close(a);
    return NULL;
}

struct sink armed_sink(struct armed *a)
{
    return recent_sink(a->recent);
}

int64_t armed_bytes(void *armed)
{
    return (int64_t)recent_bytes(((struct armed *)armed)->recent);
}

int64_t armed_most_bytes(const struct armed *a)
{
    int64_t most = a->options->max_bytes;
    return most && most < MOST_BYTES ? most : MOST_BYTES;
}

/* ---- which rows belong to the window: none of processes that ended before it ---- */

struct keep {
    struct sink inner;
    int64_t from_ns;
    struct VEC(int64_t) gone; /* ids of those processes */
};

static uint32_t no_text(void *self, const char *text, size_t n)
{
    (void)self, (void)text, (void)n;
    return 0;
}

static int note_gone(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct keep *k = self;
    const struct row_process *p = row;
    (void)e;
    if (kind == ROW_PROCESS && p->end_ns >= 0 && p->end_ns < k->from_ns) {
        int64_t *id = vec_push(&k->gone);
        if (id)
            *id = p->id;
    }
    return 0;
}

static uint32_t keep_text(void *self, const char *text, size_t n)
{
    struct keep *k = self;
    return k->inner.intern(k->inner.self, text, n);
}

static int keep_row(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct keep *k = self;
    int64_t process = kind == ROW_PROCESS ? ((const struct row_process *)row)->id : 0;
    int at = table_process_offset(kind);
    if (at >= 0)
        memcpy(&process, (const char *)row + at, sizeof process);
    for (size_t i = 0; process && i < k->gone.n; i++)
        if (k->gone.at[i] == process)
            return 0;
    return k->inner.put(k->inner.self, kind, row, e);
}

static int pour(const struct armed *a, int64_t from_ns, struct sink to, struct err *e)
{
    struct keep k = {.inner = to, .from_ns = from_ns};
    struct sink look = {.self = &k, .intern = no_text, .put = note_gone};
    struct sink keep = {.self = &k, .intern = keep_text, .put = keep_row};
    int rc = recent_pour(a->recent, &look, e) < 0 ? -1 : recent_pour(a->recent, &keep, e);
    vec_release(&k.gone);
    return rc;
}

/* ---- the profile of a window ---- */

/* train.gpuprof -> train.w3.gpuprof */
static int name_window(const char *profile, int64_t number, char *out, size_t n)
{
    static const char suffix[] = ".gpuprof";
    size_t length = strlen(profile), m = sizeof suffix - 1;
    bool known = length > m && strcmp(profile + length - m, suffix) == 0;
    int used = snprintf(out, n, "%.*s.w%" PRId64 "%s", (int)(known ? length - m : length), profile,
                        number, known ? suffix : "");
    return used > 0 && (size_t)used < n ? 0 : -1;
}

/* The wanted number, or the next one for which no profile exists. */
static int64_t free_number(const struct armed *a, int64_t number)
{
    char name[PATH_MAX];
    for (int i = 0; i < TRIES; i++, number++)
        if (name_window(a->options->output, number, name, sizeof name) < 0 ||
            access(name, F_OK) != 0)
            break;
    return number;
}

static void put_facts(const struct armed *a, struct collector *c)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRId64, a->number);
    collect_put_meta(c, "window.number", text);
    wish_text(&a->wish, text, sizeof text);
    collect_put_meta(c, "window.asked", text);
    int64_t step = collect_ask_first_step(c);
    snprintf(text, sizeof text, "%" PRId64, step);
    if (step > 0)
        collect_put_meta(c, "window.first_step", text);
}

static int write_profile(struct armed *a, int64_t from_ns, struct apart *at, struct err *e)
{
    struct store *s = store_create(at->at, at->as, e);
    if (!s)
        return -1;
    int rc = pour(a, from_ns, store_sink(s), e) < 0 ? -1 : store_finish(s, e);
    snprintf(at->at, sizeof at->at, "%s", store_place(s));
    store_close(s);
    return rc;
}

/* live: the processes go on, so what the collector otherwise writes at their end is written now. */
static int write_window(struct armed *a, struct collector *c, bool live, char *name, size_t n,
                        struct err *e)
{
    struct apart at;
    recent_keep_only(a->recent);
    put_facts(a, c);
    if (live)
        collect_put_now(c);
    if (name_window(a->options->output, a->number, name, n) < 0)
        return err_set(e, "%s: this name is too long", a->options->output);
    if (apart_begin(&at, a->folders, name, PLACE_NEW, e) < 0)
        return -1;
    int rc = write_profile(a, collect_ask_began(c), &at, e);
    if (rc == 0)
        recorder_says(name);
    struct results_options results = {
        .how = {.redact = a->options->redact, .step_kernel = a->options->step_kernel},
        .quiet = true,
        .report = a->options->report,
        .place = name};
    struct err why = ERR_INIT;
    if (rc == 0 && results_make(at.at, &results, &why) < 0) /* `analyze` will report it again */
        say("%s: %s", name, why.text);
    if (rc == 0)
        rc = apart_end(&at, e);
    apart_release(&at);
    return rc;
}

static int tell(struct armed *a, int rc, const char *name, const struct err *e)
{
    char whole[PATH_MAX];
    if (rc == 0) /* the asker is in another folder */
        asked_say(&a->wish.from, "profile %s\n", realpath(name, whole) ? whole : name);
    else
        asked_say(&a->wish.from, "refused the recording is lost: %s\n", e->text);
    return rc;
}

static void start_writer(struct armed *a, struct collector *c)
{
    char name[PATH_MAX];
    struct err e = ERR_INIT;
    a->writer = fork();
    if (a->writer == 0) {
        setpriority(PRIO_PROCESS, 0, LOW);
        int rc = tell(a, write_window(a, c, true, name, sizeof name, &e), name, &e);
        if (rc < 0)
            fprintf(stderr, "gpuprof: the recording is lost: %s\n", e.text);
        fflush(NULL);
        _exit(rc < 0);
    }
    if (a->writer < 0) {
        a->writer = 0;
        asked_say(&a->wish.from, "refused the recording is lost: no process to write it\n");
    }
    asked_done(&a->wish.from);
    recent_next(a->recent);
    collect_ask_next(c);
}

/* ---- windows ---- */

static void begin(struct armed *a, struct collector *c)
{
    char text[64];
    const struct wish *w = &a->wish;
    a->number = free_number(a, w->number > a->number ? w->number : a->number + 1);
    a->ends = false;
    collect_ask(c, w->steps, w->duration_ns);
    wish_text(w, text, sizeof text);
    if (w->steps && !collect_marks_steps(c))
        asked_say(&w->from,
                  "recording %s; the program has marked no step so far: 10 s if none comes\n",
                  text);
    else
        asked_say(&w->from, "recording %s\n", text);
}

static bool writing(struct armed *a, int how)
{
    if (a->writer && waitpid(a->writer, NULL, how) == 0)
        return true;
    a->writer = 0;
    return false;
}

void armed_tick(struct armed *a, struct collector *c, struct wishes *w)
{
    if (writing(a, WNOHANG))
        return;
    switch (collect_asked(c)) {
    case COLLECT_NONE:
        if (wishes_next(w, &a->wish))
            begin(a, c);
        break;
    case COLLECT_OPEN:
        if (!a->ends && (a->ends = asked_to_stop(&a->wish.from)))
            collect_ask_end(c);
        break;
    case COLLECT_OVER:
        start_writer(a, c);
        break;
    }
}

void armed_stop(struct armed *a, struct collector *c)
{
    writing(a, 0);
    collect_ask_end(c);
}

int armed_finish(struct armed *a, struct collector *c, struct wishes *w, struct err *e)
{
    static const char ended[] = "the program has ended";
    char name[PATH_MAX];
    int rc = 0;
    wishes_look(w);
    wishes_refuse(w, ended);
    if (collect_ask_has_begun(c)) {
        rc = tell(a, write_window(a, c, false, name, sizeof name, e), name, e);
    } else if (collect_asked(c) != COLLECT_NONE) {
        asked_say(&a->wish.from, "refused %s\n", ended);
        a->number--;
    }
    asked_done(&a->wish.from);
    if (!a->number)
        say("nobody asked for a recording (gpuprof record), so there is no profile");
    return rc;
}

void armed_close(struct armed *a)
{
    if (!a)
        return;
    recent_close(a->recent);
    str_table_release(&a->texts);
    free(a);
}
