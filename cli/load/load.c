/* Loads files into an analysis; several files are ranks of one run (load.h). */
#include "cli/load/load.h"

#include "analyzer/import/import.h"
#include "analyzer/measure/together.h"
#include "analyzer/profile/history.h"
#include "analyzer/profile/redact.h"
#include "cli/common/command.h"
#include "cli/load/many.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int load_note_left_out(const struct sink *sink, const char *left_out, struct err *e)
{
    static const char code[] = "files-left-out";
    struct row_health h = {.id = INT32_MAX, .severity = 1};
    h.code = sink->intern(sink->self, code, sizeof code - 1);
    h.text = sink->intern(sink->self, left_out, strlen(left_out));
    return sink->put(sink->self, ROW_HEALTH, &h, e);
}

int load_put_meta(const struct sink *sink, const char *key, const char *value, int before_last,
                  struct err *e)
{
    struct row_meta m = {.id = INT32_MAX - before_last};
    m.key = sink->intern(sink->self, key, strlen(key));
    m.value = sink->intern(sink->self, value, strlen(value));
    return sink->put(sink->self, ROW_META, &m, e);
}

/* Stores what the options say about steps and the rank. It comes before what the profile says. */
static int note_steps(const struct sink *sink, const struct load_how *how, struct err *e)
{
    char count[16];
    if (how->step_count < 0 || how->step_count == 1)
        return err_set(e, "--steps-per-run needs a number of steps, at least 2");
    if (how->step_kernel && !*how->step_kernel)
        return err_set(e, "--step-kernel needs a kernel's name, or a part of it");
    if (how->rank && (!*how->rank || strspn(how->rank, "0123456789") != strlen(how->rank)))
        return err_set(e, "--rank needs the number of a rank");
    snprintf(count, sizeof count, "%d", how->step_count);
    const char *kernel = how->step_kernel ? how->step_kernel : how->step_count ? "" : NULL;
    if (kernel && load_put_meta(sink, "steps.kernel", kernel, 1, e))
        return -1;
    if (how->rank && load_put_meta(sink, "steps.rank", how->rank, 2, e))
        return -1;
    return how->step_count ? load_put_meta(sink, "steps.count", count, 0, e) : 0;
}

/* Reads the files. All texts pass through the sink that hides secrets, also those of profiles and
 * traces that others made. */
static int read_into(struct timeline *t, const struct import_files *l, const struct load_how *how,
                     const char *left_out, struct err *e)
{
    struct redact *r = redact_open(timeline_sink(t), how->redact, e);
    if (!r)
        return -1;
    struct sink sink = redact_sink(r);
    int rc = note_steps(&sink, how, e);
    if (rc == 0)
        rc = import_paths((const char *const *)l->at, l->n, &sink, e);
    if (rc == 0 && left_out)
        rc = load_note_left_out(&sink, left_out, e);
    redact_close(r);
    return rc;
}

static struct timeline *read_timeline(const struct import_files *l, const struct load_how *how,
                                      const char *left_out, struct err *e)
{
    struct timeline *t = timeline_new(e);
    if (t && (read_into(t, l, how, left_out, e) || timeline_finish(t, e))) {
        timeline_free(t);
        return NULL;
    }
    return t;
}

/* True if the file can be read to its end; if not, *e says why. */
static bool readable(char *path, const struct load_how *how, struct err *e)
{
    struct import_files one = {.at = &path, .n = 1};
    struct timeline *t = read_timeline(&one, how, NULL, e);
    timeline_free(t);
    return t;
}

/* If several files cannot be read together: keeps those in *l that can be read alone, and returns
 * the others in words, in the arena. NULL: no file is damaged, or all are. */
static const char *drop_damaged(struct import_files *l, const struct load_how *how,
                                struct arena *arena)
{
    enum { NAMED = 8 };
    const char *text = "";
    size_t kept = 0, left = 0;
    bool *good = arena_array(arena, l->n, sizeof *good);
    for (size_t i = 0; good && text && i < l->n; i++) {
        struct err why = ERR_INIT;
        good[i] = readable(l->at[i], how, &why);
        kept += good[i];
        if (!good[i] && left++ < NAMED)
            text = arena_printf(arena, "%s%s%s", text, *text ? "; " : "", why.text);
    }
    if (text && left > NAMED)
        text = arena_printf(arena, "%s; and %zu more", text, left - NAMED);
    if (!good || !text || kept == 0 || kept == l->n)
        return NULL;
    kept = 0;
    for (size_t i = 0; i < l->n; i++)
        if (good[i])
            l->at[kept++] = l->at[i];
        else
            free(l->at[i]);
    l->n = kept;
    return arena_printf(arena, "gpuprof left out damaged files: %s", text);
}

/* Keeps the files in *l that were taken. Returns the others in words: "b.json (on another GPU: T4);
 * ...". */
static const char *leave_out(struct import_files *l, const struct load_how *how,
                             const struct file_role *roles, struct arena *arena)
{
    const char *text = "", *between = "";
    size_t kept = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (roles[i].taken) {
            l->at[kept++] = l->at[i];
            continue;
        }
        const char *more = text ? arena_printf(arena, "%s%s%s (%s)", text, between,
                                               redact_path(l->at[i], how->redact), roles[i].why)
                                : NULL;
        text = more;
        between = "; ";
        free(l->at[i]);
    }
    l->n = kept;
    return text;
}

static const char *joined(struct arena *arena, const char *a, const char *b)
{
    return a && b ? arena_printf(arena, "%s. %s", a, b) : a ? a : b;
}

/* The timeline of all files if they are ranks of one run. Else NULL: then *l keeps those that are
 * and *left_out names the others, or *e says that no two are. */
static struct timeline *sort_out(struct import_files *l, const struct load_how *how,
                                 struct arena *arena, const char **left_out, struct err *e)
{
    struct timeline *t = read_timeline(l, how, NULL, e);
    const char *damaged = !t && l->n > 1 ? drop_damaged(l, how, arena) : NULL;
    if (damaged)
        t = read_timeline(l, how, damaged, e);
    *left_out = damaged;
    if (!t)
        *left_out = NULL;
    if (!t || l->n < 2)
        return t;
    struct file_role *roles = arena_array(arena, l->n, sizeof *roles);
    int taken = roles ? together_find(t, arena, l->n, roles) : -1;
    if (taken == (int)l->n)
        return t;
    timeline_free(t);
    *left_out = NULL;
    const char *text = taken < 0 ? NULL : leave_out(l, how, roles, arena);
    if (!text)
        err_no_memory(e);
    else if (taken == 1)
        err_set(e, "these files are not the ranks of one run; pass one at a time. Besides %s: %s",
                redact_path(l->at[0], how->redact), text);
    else
        *left_out = joined(arena, damaged,
                           arena_printf(arena, "gpuprof left out files of another run: %s", text));
    return NULL;
}

/* The timeline of a large job: summaries, and all rows of one rank. */
static struct timeline *read_summaries(struct job *job, size_t focus, const struct load_how *how,
                                       const char *left_out, struct arena *arena, struct err *e)
{
    struct timeline *t = timeline_new(e);
    struct sink sink = t ? timeline_sink(t) : (struct sink){0};
    if (t && note_steps(&sink, how, e) == 0 &&
        many_pour(job, focus, left_out, &sink, arena, e) == 0 && timeline_finish(t, e) == 0)
        return t;
    timeline_free(t);
    return NULL;
}

/* If the job turns out to have few ranks, all rows are read, as of few files. */
static struct timeline *read_kept(const struct job *job, const struct load_how *how,
                                  const char *left_out, struct arena *arena, struct err *e)
{
    struct import_files kept = {.at = arena_array(arena, job->files.n, sizeof *kept.at),
                                .n = job->files.n};
    for (size_t i = 0; kept.at && i < kept.n; i++)
        kept.at[i] = job->files.at[i].path;
    if (kept.at)
        return read_timeline(&kept, how, left_out, e);
    err_no_memory(e);
    return NULL;
}

/* Reads more files than MANY_FILES. */
static struct timeline *read_many(struct import_files *l, const struct load_how *how, struct err *e)
{
    struct arena arena = ARENA_INIT;
    struct job job = {.redact = how->redact, .rank = how->rank};
    const char *left_out;
    size_t focus;
    struct timeline *t = NULL;
    if (many_add_all(&job, l->at, l->n, e) == 0 &&
        job_sort_out(&job, &arena, &left_out, &focus, e) == 0)
        t = job.files.n <= MANY_FILES ? read_kept(&job, how, left_out, &arena, e)
                                      : read_summaries(&job, focus, how, left_out, &arena, e);
    job_release(&job);
    arena_release(&arena);
    return t;
}

/* Reads a few files as ranks of one run. Files that are no rank of it are left out. */
static struct timeline *read_together(struct import_files *l, const struct load_how *how,
                                      struct err *e)
{
    struct arena arena = ARENA_INIT;
    const char *left_out;
    struct timeline *t = sort_out(l, how, &arena, &left_out, e);
    if (!t && left_out)
        t = read_timeline(l, how, left_out, e);
    arena_release(&arena);
    return t;
}

int load_sort_out(struct import_files *l, const struct load_how *how, struct arena *arena,
                  const char **left_out, struct err *e)
{
    *left_out = NULL;
    if (l->n < 2)
        return 0;
    struct timeline *t = sort_out(l, how, arena, left_out, e);
    int rc = t || *left_out ? 0 : -1;
    timeline_free(t);
    return rc;
}

/* Fails if the numbers contradict each other: no report is better than such a report. */
static int refuse_contradiction(const struct loaded *l, const char *path, struct err *e)
{
    const char *wrong = l->analysis->facts->contradiction;
    return wrong ? err_set(e,
                           "%s: gpuprof refuses to analyse it, because its numbers contradict each "
                           "other: %s; record more steps",
                           redact_path(path, l->redact), wrong)
                 : 0;
}

/* past: trials of other profiles, which predictions learn from; NULL: only bounds. */
static int load_files(struct import_files *files, const struct load_how *how,
                      struct past_trials *past, struct loaded *l, struct err *e)
{
    l->timeline = files->n > MANY_FILES ? read_many(files, how, e) : read_together(files, how, e);
    if (!l->timeline)
        return -1;
    l->trial_count = trials_read(files->at[0], l->trials, TRIALS_SHOWN);
    if (past) {
        past->own = l->trials;
        past->own_count = l->trial_count;
    }
    l->analysis = past ? advise_predicted(l->timeline, past, e) : advise(l->timeline, e);
    return l->analysis ? refuse_contradiction(l, files->at[0], e) : -1;
}

static int load(const char *const *paths, size_t n, const struct load_how *how,
                struct past_trials *past, struct loaded *l, struct err *e)
{
    struct import_files files;
    *l = (struct loaded){.redact = how->redact};
    if (import_list(paths, n, &files, e) < 0)
        return -1;
    int rc = load_files(&files, how, past, l, e);
    import_list_release(&files);
    if (rc < 0)
        load_release(l);
    return rc;
}

int load_analysis(const char *const *paths, size_t n, const struct load_how *how, struct loaded *l,
                  struct err *e)
{
    return load(paths, n, how, NULL, l, e);
}

int load_predicted(const char *const *paths, size_t n, const struct load_how *how,
                   const char *history, struct loaded *l, struct err *e)
{
    struct past_trials past = {0};
    struct past_trial *kept = history ? history_read(history, &past.count, e) : NULL;
    *l = (struct loaded){0};
    if (history && !kept && *e->text)
        return -1;
    past.history = kept;
    int rc = load(paths, n, how, &past, l, e);
    free(kept);
    return rc;
}

const char *load_history(const char *option)
{
    const char *path = option ? option : getenv("GPUPROF_HISTORY");
    return path && *path ? path : NULL;
}

void load_release(struct loaded *l)
{
    if (l->analysis)
        advice_free(l->analysis);
    if (l->timeline)
        timeline_free(l->timeline);
    *l = (struct loaded){0};
}

const char *load_virtual(const struct loaded *l)
{
    const struct advice *a = l->analysis;
    return facts_virtual(a->facts) ? tl_text(a->facts->tl, a->facts->device->name) : NULL;
}

struct export_options load_options(const struct loaded *l, const char *path)
{
    const char *command = timeline_meta(l->timeline, "command");
    const char *slash = strrchr(path, '/');
    return (struct export_options){
        .title = command && *command ? command
                 : slash             ? slash + 1
                                     : path,
        .source = redact_path(path, l->redact),
        .virtual_gpu = load_virtual(l),
        .trials = l->trials,
        .trial_count = l->trial_count,
        .color = color_wanted(STDOUT_FILENO),
        .width = terminal_width(),
    };
}
