/* Joins the summaries of ranks into a job, decides which files belong together, and
 * pours them into a sink. */
#include "analyzer/reduce/job.h"

#include "analyzer/facts/steps/step_marks.h"
#include "analyzer/import/import.h"
#include "analyzer/import/moved.h"
#include "analyzer/measure/together.h"
#include "analyzer/profile/redact.h"

#include <stdlib.h>
#include <string.h>

struct job_file *job_add(struct job *j, const char *path)
{
    char *copy = strdup(path);
    struct job_file *f = copy ? vec_push(&j->files) : NULL;
    if (f)
        f->path = copy;
    else
        free(copy);
    return f;
}

int job_file_fails(struct job_file *f, const char *why)
{
    bytes_release(&f->rows);
    f->wrong = strdup(why);
    return f->wrong ? 0 : -1;
}

static void release_file(struct job_file *f)
{
    free(f->path);
    free(f->wrong);
    bytes_release(&f->rows);
}

void job_release(struct job *j)
{
    for (size_t i = 0; i < j->files.n; i++)
        release_file(&j->files.at[i]);
    vec_release(&j->files);
    if (j->spill)
        fclose(j->spill);
    *j = (struct job){0};
}

/* ---- pouring ---- */

struct summarised {
    const struct job *job;
    const struct job_file *file;
};

static int read_summary(void *self, struct sink *out, struct err *e)
{
    const struct summarised *from = self;
    struct bytes room = {0};
    struct moved m;
    const struct bytes *rows = job_rows(from->job, from->file, &room, e);
    struct sink through = moved_sink(&m, out, from->file->epoch_ns);
    int rc = rows ? unpack_rows(rows, &through, e) : -1;
    bytes_release(&room);
    return rc < 0 ? err_wrap(e, "%s", from->file->path) : 0;
}

int job_pour(const struct job *j, size_t focus, struct sink *out, struct err *e)
{
    struct import_source *from = calloc(j->files.n + 1, sizeof *from);
    struct summarised *of = calloc(j->files.n + 1, sizeof *of);
    for (size_t i = 0; from && of && i < j->files.n; i++) {
        of[i] = (struct summarised){j, &j->files.at[i]};
        from[i] = (struct import_source){
            .path = j->files.at[i].path, .read = i == focus ? NULL : read_summary, .self = &of[i]};
    }
    int rc = from && of ? import_sources(from, j->files.n, out, e) : err_no_memory(e);
    free(from);
    free(of);
    return rc;
}

/* The timeline of one file's summary. *epoch_ns: start of the time axis for all files; 0 = not
 * known yet, then it is set. NULL with *e set. */
static struct timeline *timeline_of(const struct job *j, size_t file, int64_t *epoch_ns,
                                    struct err *e)
{
    struct timeline *t = timeline_new(e);
    struct sink sink = t ? timeline_sink(t) : (struct sink){0};
    struct summarised of = {j, &j->files.at[file]};
    struct import_source from = {.path = of.file->path, .read = read_summary, .self = &of};
    sink.epoch_ns = *epoch_ns;
    if (t && (import_sources(&from, 1, &sink, e) < 0 || timeline_finish(t, e) < 0)) {
        timeline_free(t);
        return NULL;
    }
    *epoch_ns = sink.epoch_ns;
    return t;
}

/* ---- which files belong to the job ---- */

static void keep(struct job *j, const bool *stays)
{
    size_t kept = 0;
    for (size_t i = 0; i < j->files.n; i++)
        if (stays[i])
            j->files.at[kept++] = j->files.at[i];
        else
            release_file(&j->files.at[i]);
    j->files.n = kept;
}

/* Removes damaged files from the job. Returns a sentence that names them; NULL with *e empty: there
 * are none; NULL with *e set: none can be read, or out of memory. */
static const char *drop_damaged(struct job *j, struct arena *arena, struct err *e)
{
    enum { NAMED = 8 };
    const char *words = "";
    size_t left = 0;
    bool *good = arena_array(arena, j->files.n + 1, sizeof *good);
    for (size_t i = 0; good && words && i < j->files.n; i++) {
        const char *wrong = j->files.at[i].wrong;
        good[i] = !wrong;
        if (wrong && left == 0)
            err_set(e, "%s", wrong);
        if (wrong && left++ < NAMED)
            words = arena_printf(arena, "%s%s%s", words, *words ? "; " : "", wrong);
    }
    if (words && left > NAMED)
        words = arena_printf(arena, "%s; and %zu more", words, left - NAMED);
    if (!good || !words) {
        err_no_memory(e);
        return NULL;
    }
    /* if no file can be read, *e has the reason of the first one */
    if (left == 0 || left == j->files.n)
        return NULL;
    *e = (struct err)ERR_INIT;
    keep(j, good);
    const char *all = arena_printf(arena, "gpuprof left out damaged files: %s", words);
    if (!all)
        err_no_memory(e);
    return all;
}

/* Removes files of other runs from the job. Returns "b.json (on another GPU: T4);
 * ..."; NULL: out of memory. */
static const char *drop_others(struct job *j, const struct file_role *roles, struct arena *arena)
{
    const char *words = "";
    bool *taken = arena_array(arena, j->files.n + 1, sizeof *taken);
    for (size_t i = 0; taken && words && i < j->files.n; i++) {
        taken[i] = roles[i].taken;
        if (!taken[i])
            words = arena_printf(arena, "%s%s%s (%s)", words, *words ? "; " : "",
                                 redact_path(j->files.at[i].path, j->redact), roles[i].why);
    }
    if (!taken || !words)
        return NULL;
    keep(j, taken);
    return words;
}

/* Looks for step marks on the file's own time axis: relative to another run's start, which may be
 * years earlier, its ranges would be out of bounds. -1 with *e set. */
static int find_marks(const struct job *j, size_t file, struct mark_group *marks, struct err *e)
{
    int64_t own_ns = 0;
    struct timeline *t = timeline_of(j, file, &own_ns, e);
    if (t)
        *marks = steps_marks(t, TL_NONE);
    timeline_free(t);
    return t ? 0 : -1;
}

struct inspected { /* of one file */
    struct mark_group marks;
    int64_t rank; /* -1: not known */
};

static int64_t rank_of(const struct timeline *t)
{
    int64_t rank = -1;
    for (size_t i = 0; i < t->process_count && rank < 0; i++)
        rank = t->processes[i].rank;
    return rank;
}

/* Collects what together_roles and find_focus need to know of each file, one file at a time. -1
 * with *e set. */
static int inspect_files(const struct job *j, struct together *x, struct inspected *of,
                         struct err *e)
{
    int64_t epoch_ns = 0;
    for (size_t i = 0; i < j->files.n; i++) {
        struct timeline *t = timeline_of(j, i, &epoch_ns, e);
        if (!t)
            return -1;
        int rc = together_add(x, t, i) < 0 ? err_no_memory(e) : 0;
        of[i].marks = steps_marks(t, TL_NONE);
        of[i].rank = rank_of(t);
        timeline_free(t);
        if (rc == 0 && of[i].marks.count == 0 && j->files.at[i].epoch_ns != epoch_ns)
            rc = find_marks(j, i, &of[i].marks, e);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int say_others(struct job *j, const struct file_role *roles, int taken, struct arena *arena,
                      const char **words, struct err *e)
{
    if (taken == (int)j->files.n)
        return 0;
    *words = drop_others(j, roles, arena);
    if (!*words)
        return err_no_memory(e);
    if (taken == 1)
        return err_set(e,
                       "these files are not the ranks of one run; pass one at a time. Besides %s: "
                       "%s",
                       redact_path(j->files.at[0].path, j->redact), *words);
    *words = arena_printf(arena, "gpuprof left out files of another run: %s", *words);
    return *words ? 0 : err_no_memory(e);
}

/* Index of the analysed file, counted among the files that stay: the one that was asked for,
 * otherwise the one with the best marks, otherwise the one with most GPU time. Notes its rank.
 * SIZE_MAX: the rank that was asked for is in no file. Where no file has a number, places count. */
static size_t find_focus(struct job *j, struct arena *arena, const struct file_role *roles,
                         const struct inspected *of)
{
    size_t asked = SIZE_MAX, marked = SIZE_MAX, busiest = SIZE_MAX, focus = 0;
    int64_t rank = j->rank ? strtoll(j->rank, NULL, 10) : -1, place = 0;
    bool numbered = false;
    for (size_t i = 0; i < j->files.n; i++)
        numbered |= roles[i].taken && of[i].rank >= 0;
    for (size_t i = 0; i < j->files.n; i++) {
        if (!roles[i].taken)
            continue;
        if (rank >= 0 && asked == SIZE_MAX && (numbered ? of[i].rank : place) == rank)
            asked = i;
        place++;
        if (of[i].marks.count &&
            (marked == SIZE_MAX || steps_better_marks(&of[i].marks, &of[marked].marks)))
            marked = i;
        if (busiest == SIZE_MAX || j->files.at[i].work_ns > j->files.at[busiest].work_ns)
            busiest = i;
    }
    size_t chosen = j->rank ? asked : marked != SIZE_MAX ? marked : busiest;
    if (chosen == SIZE_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i < chosen; i++)
        focus += roles[i].taken;
    if (!j->rank && of[chosen].rank >= 0)
        j->rank = arena_printf(arena, "%lld", (long long)of[chosen].rank);
    return focus;
}

/* Removes files of other runs, and sets *words and *focus. -1 with *e set. */
static int drop_other_runs(struct job *j, struct arena *arena, const char **words, size_t *focus,
                           struct err *e)
{
    size_t n = j->files.n;
    struct together *x = together_open(arena, n);
    struct file_role *roles = calloc(n + 1, sizeof *roles);
    struct inspected *of = calloc(n + 1, sizeof *of);
    int rc = x && roles && of ? inspect_files(j, x, of, e) : err_no_memory(e);
    int taken = rc == 0 ? together_roles(x, roles) : -1;
    if (rc == 0 && taken < 0)
        rc = err_no_memory(e);
    if (rc == 0) {
        *focus = find_focus(j, arena, roles, of);
        rc = *focus != SIZE_MAX ? say_others(j, roles, taken, arena, words, e)
                                : err_set(e, "no rank %s in these %d files", j->rank, taken);
    }
    together_close(x);
    free(roles);
    free(of);
    return rc;
}

int job_sort_out(struct job *j, struct arena *arena, const char **left_out, size_t *focus,
                 struct err *e)
{
    const char *others = NULL, *damaged = drop_damaged(j, arena, e);
    *focus = 0;
    if (!damaged && *e->text)
        return -1;
    if (j->files.n > 1 && drop_other_runs(j, arena, &others, focus, e) < 0)
        return -1;
    *left_out = damaged && others ? arena_printf(arena, "%s. %s", damaged, others)
                : damaged         ? damaged
                                  : others;
    return damaged && others && !*left_out ? err_no_memory(e) : 0;
}
