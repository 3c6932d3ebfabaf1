#include "analyzer/reduce/job.h"

#include "analyzer/facts/facts.h"
#include "analyzer/import/import.h"
#include "analyzer/import/moved.h"
#include "analyzer/measure/together.h"

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
}

/* ---- pouring ---- */

static int read_summary(void *self, struct sink *out, struct err *e)
{
    const struct job_file *f = self;
    struct moved m;
    struct sink through = moved_sink(&m, out, f->epoch_ns);
    return unpack_rows(&f->rows, &through, e) < 0 ? err_wrap(e, "%s", f->path) : 0;
}

int job_pour(const struct job *j, size_t focus, struct sink *out, struct err *e)
{
    struct import_source *from = calloc(j->files.n + 1, sizeof *from);
    for (size_t i = 0; from && i < j->files.n; i++)
        from[i] = (struct import_source){.path = j->files.at[i].path,
                                         .read = i == focus ? NULL : read_summary,
                                         .self = &j->files.at[i]};
    int rc = from ? import_sources(from, j->files.n, out, e) : err_no_memory(e);
    free(from);
    return rc;
}

/* The summaries of all files. */
static struct timeline *timeline_of(const struct job *j, struct err *e)
{
    struct timeline *t = timeline_new(e);
    struct sink sink = t ? timeline_sink(t) : (struct sink){0};
    if (t && (job_pour(j, SIZE_MAX, &sink, e) < 0 || timeline_finish(t, e) < 0)) {
        timeline_free(t);
        return NULL;
    }
    return t;
}

/* ---- which files ---- */

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

/* Files that cannot be read, in words; NULL with *e empty: there are none. */
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
    if (left == 0 || left == j->files.n) /* of none that can be read the first one says why */
        return NULL;
    *e = (struct err)ERR_INIT;
    keep(j, good);
    const char *all = arena_printf(arena, "gpuprof left out damaged files: %s", words);
    if (!all)
        err_no_memory(e);
    return all;
}

/* "b.json (on another GPU: T4); ..." of those that are not taken. */
static const char *drop_others(struct job *j, const struct file_role *roles, struct arena *arena,
                               const char *(*shown)(const char *))
{
    const char *words = "";
    bool *taken = arena_array(arena, j->files.n + 1, sizeof *taken);
    for (size_t i = 0; taken && words && i < j->files.n; i++) {
        taken[i] = roles[i].taken;
        if (!taken[i])
            words = arena_printf(arena, "%s%s%s (%s)", words, *words ? "; " : "",
                                 shown(j->files.at[i].path), roles[i].why);
    }
    if (!taken || !words)
        return NULL;
    keep(j, taken);
    return words;
}

static int apart(struct job *j, struct arena *arena, const char *(*shown)(const char *),
                 const char **words, struct err *e)
{
    struct timeline *t = timeline_of(j, e);
    struct file_role *roles = t ? arena_array(arena, j->files.n, sizeof *roles) : NULL;
    int taken = roles ? together_find(t, arena, j->files.n, roles) : -1, all = (int)j->files.n;
    timeline_free(t);
    *words = NULL;
    if (taken == all)
        return 0;
    *words = taken < 0 ? NULL : drop_others(j, roles, arena, shown);
    if (!*words)
        return *e->text ? -1 : err_no_memory(e);
    if (taken == 1)
        return err_set(e,
                       "these files are not the ranks of one run; pass one at a time. Besides %s: "
                       "%s",
                       shown(j->files.at[0].path), *words);
    *words = arena_printf(arena, "gpuprof left out files of another run: %s", *words);
    return *words ? 0 : err_no_memory(e);
}

int job_sort_out(struct job *j, struct arena *arena, const char *(*shown)(const char *),
                 const char **left_out, struct err *e)
{
    const char *others = NULL, *damaged = drop_damaged(j, arena, e);
    if (!damaged && *e->text)
        return -1;
    if (j->files.n > 1 && apart(j, arena, shown, &others, e) < 0)
        return -1;
    *left_out = damaged && others ? arena_printf(arena, "%s. %s", damaged, others)
                : damaged         ? damaged
                                  : others;
    return damaged && others && !*left_out ? err_no_memory(e) : 0;
}

/* Number of the file that a process came from; SIZE_MAX. */
static size_t file_of(const struct timeline *t, uint32_t process)
{
    for (size_t i = t->meta_count; i > 0; i--) {
        const struct row_meta *m = &t->metas[i - 1];
        if (m->process == t->processes[process].id &&
            strcmp(tl_text(t, m->key), IMPORT_FILE_KEY) == 0)
            return strtoul(tl_text(t, m->value), NULL, 10);
    }
    return SIZE_MAX;
}

int job_focus(const struct job *j, size_t *focus, struct err *e)
{
    struct timeline *t = timeline_of(j, e);
    if (!t)
        return -1;
    uint32_t marked = steps_marked(t);
    *focus = marked == TL_NONE ? SIZE_MAX : file_of(t, marked);
    timeline_free(t);
    if (*focus < j->files.n)
        return 0;
    *focus = 0;
    for (size_t i = 1; i < j->files.n; i++)
        if (j->files.at[i].work_ns > j->files.at[*focus].work_ns)
            *focus = i;
    return 0;
}
