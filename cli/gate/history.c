/* Chooses the earlier runs of a folder that a new run is compared with. */
#include "cli/gate/history.h"

#include "analyzer/import/import.h"
#include "analyzer/profile/redact.h"
#include "analyzer/profile/store.h"
#include "base/str.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { REASONS = 6 };

struct candidate {
    char *path;
    int64_t started_ns; /* for a trace or a folder: when it was written */
};

struct reason {
    const char *text;
    size_t runs;
};

struct search {
    struct VEC(struct candidate) found;
    struct reason why[REASONS];
    size_t reasons, others;
    const struct history_wish *wish;
};

static int64_t started(const char *path, const struct stat *st)
{
    struct err ignored = ERR_INIT;
    struct store *s =
        S_ISREG(st->st_mode) && store_is_profile(path) == 1 ? store_open(path, 0, &ignored) : NULL;
    int64_t ns = s ? store_start_realtime(s) : 0;
    store_close(s);
    return ns > 0 ? ns : (int64_t)st->st_mtime * 1000000000;
}

static bool is_unfinished(const char *name)
{
    const char *dot = strrchr(name, '.');
    return *name == '.' || (dot && (strcmp(dot, ".partial") == 0 || strcmp(dot, ".html") == 0 ||
                                    strcmp(dot, ".tmp") == 0));
}

/* True if a folder within it, which would be a run of many ranks, cannot be listed to its end. */
static bool is_endless(const char *folder, struct err *e)
{
    struct import_files all;
    struct err none = ERR_INIT;
    import_list(&folder, 1, &all, &none);
    if (all.endless)
        *e = none;
    bool endless = all.endless;
    import_list_release(&all);
    return endless;
}

static int list(struct search *s, const char *folder, const char *path, struct err *e)
{
    struct stat own, st;
    char name[4096];
    const char *slash = str_ends_with(folder, "/") ? "" : "/";
    if (is_endless(folder, e))
        return -1;
    DIR *d = opendir(folder);
    if (!d)
        return err_set(e, "cannot read the history %s: %s", folder, strerror(errno));
    bool is_there = stat(path, &own) == 0;
    for (struct dirent *f; (f = readdir(d));) {
        if (is_unfinished(f->d_name) ||
            (size_t)snprintf(name, sizeof name, "%s%s%s", folder, slash, f->d_name) >=
                sizeof name ||
            stat(name, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
            (is_there && st.st_dev == own.st_dev && st.st_ino == own.st_ino))
            continue;
        struct candidate *c = vec_push(&s->found);
        if (c)
            *c = (struct candidate){strdup(name), started(name, &st)};
        if (!c || !c->path) {
            closedir(d);
            return err_no_memory(e);
        }
    }
    closedir(d);
    return 0;
}

static int newest_first(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    if (a->started_ns != b->started_ns)
        return (a->started_ns < b->started_ns) - (a->started_ns > b->started_ns);
    return strcmp(a->path, b->path);
}

static int left_out(struct search *s, struct arena *arena, const char *why)
{
    for (size_t i = 0; i < s->reasons; i++)
        if (strcmp(s->why[i].text, why) == 0) {
            s->why[i].runs++;
            return 0;
        }
    if (s->reasons == REASONS) {
        s->others++;
        return 0;
    }
    s->why[s->reasons] = (struct reason){arena_strdup(arena, why), 1};
    return s->why[s->reasons++].text ? 0 : -1;
}

/* For example: "left out of the history: 2 (their batches ...), 1 (the program failed)". */
static const char *words(const struct search *s, struct arena *arena)
{
    const char *text = s->reasons ? "left out of the history: " : NULL;
    for (size_t i = 0; i < s->reasons && text; i++)
        text = arena_printf(arena, "%s%s%zu (%s)", text, i ? ", " : "", s->why[i].runs,
                            s->why[i].text);
    return text && s->others ? arena_printf(arena, "%s, %zu more", text, s->others) : text;
}

/* Adds a run if it counts, else the reason why it does not. */
static int take(struct history *h, struct search *s, const char *path, struct err *e)
{
    struct loaded l;
    struct err why_not = ERR_INIT;
    struct past_run run;
    const char *why = NULL;
    if (load_analysis(&path, 1, s->wish->how, &l, &why_not) < 0)
        return left_out(s, &h->arena, why_not.text) < 0 ? err_no_memory(e) : 0;
    int rc = past_run_of(&h->arena, l.analysis, s->wish->now, s->wish->per_sample, &run, &why);
    if (rc == 0)
        rc = left_out(s, &h->arena, why ? why : "");
    else if (rc > 0 &&
             !(run.name = arena_strdup(&h->arena, redact_path(path, s->wish->how->redact))))
        rc = -1;
    if (rc > 0)
        h->runs[h->count++] = run;
    if (rc > 0 && h->count == 1)
        h->newest = l;
    else
        load_release(&l);
    return rc < 0 ? err_no_memory(e) : 0;
}

static int take_all(struct history *h, struct search *s, struct err *e)
{
    const char *start = timeline_meta(s->wish->now->facts->tl, "start_realtime_ns");
    int64_t now_ns = start ? atoll(start) : INT64_MAX;
    for (size_t i = 0; i < s->found.n && h->count < (size_t)s->wish->most; i++) {
        if (s->found.at[i].started_ns > now_ns) {
            if (left_out(s, &h->arena, "began after the new run") < 0)
                return err_no_memory(e);
            continue;
        }
        if (take(h, s, s->found.at[i].path, e) < 0)
            return -1;
    }
    for (size_t i = 0; i < h->count / 2; i++) { /* reverse the order: oldest first */
        struct past_run kept = h->runs[i];
        h->runs[i] = h->runs[h->count - 1 - i];
        h->runs[h->count - 1 - i] = kept;
    }
    h->left_out = words(s, &h->arena);
    return 0;
}

int history_find(struct history *h, const struct history_wish *w, struct err *e)
{
    struct search s = {.wish = w};
    *h = (struct history){0};
    h->runs = arena_array(&h->arena, (size_t)w->most, sizeof *h->runs);
    int rc = h->runs ? list(&s, w->folder, w->path, e) : err_no_memory(e);
    if (rc == 0 && s.found.n)
        qsort(s.found.at, s.found.n, sizeof *s.found.at, newest_first);
    if (rc == 0)
        rc = take_all(h, &s, e);
    for (size_t i = 0; i < s.found.n; i++)
        free(s.found.at[i].path);
    vec_release(&s.found);
    if (rc < 0)
        history_release(h);
    return rc;
}

void history_release(struct history *h)
{
    load_release(&h->newest);
    arena_release(&h->arena);
}
