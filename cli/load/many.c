/* Loads folders of many ranks: summaries of all ranks, and all rows of one. */
#include "cli/load/many.h"

#include "analyzer/import/import.h"
#include "analyzer/profile/redact.h"
#include "analyzer/reduce/summary.h"
#include "cli/load/load.h"

#include <string.h>

/* Reads the rows of one file, without secrets. *epoch_ns: the time from which they count. */
static int read_file(const char *path, bool redact, struct sink inner, int64_t *epoch_ns,
                     struct err *e)
{
    struct redact *r = redact_open(inner, redact, e);
    if (!r)
        return -1;
    struct sink sink = redact_sink(r);
    int rc = import_paths(&path, 1, &sink, e);
    *epoch_ns = sink.epoch_ns;
    redact_close(r);
    return rc;
}

/* Packs the summary of a file. 1: done; 0: the file needs more than a summary; -1 with *e set. */
static int pack_summary(struct job_file *f, bool redact, struct packer *p, struct err *e)
{
    struct timeline *t = timeline_new(e);
    int rc = t && read_file(f->path, redact, timeline_sink(t), &f->epoch_ns, e) == 0 &&
                     timeline_finish(t, e) == 0
                 ? 1
                 : -1;
    if (rc > 0 && !summary_suffices(t))
        rc = 0;
    if (rc > 0) {
        struct sink sink = pack_sink(p);
        f->work_ns = summary_work_ns(t);
        rc = summary_write(t, &sink, e) < 0 ? -1 : 1;
    }
    timeline_free(t);
    return rc;
}

int many_add(struct job *j, const char *path, struct err *e)
{
    struct err why = ERR_INIT;
    struct job_file *f = job_add(j, path);
    struct packer *p = f ? pack_open(&f->rows, e) : NULL;
    if (!p)
        return err_no_memory(e);
    int rc = pack_summary(f, j->redact, p, &why);
    if (rc == 0)
        rc = read_file(path, j->redact, pack_sink(p), &f->epoch_ns, &why);
    pack_close(p);
    if (rc < 0 && job_file_fails(f, why.text) < 0)
        return err_no_memory(e);
    job_spill(j);
    return 0;
}

/* Notes which ranks have all their rows and which only a summary, so that rules do not look for
 * kernels of the latter. */
static int note_summaries(const struct job *j, size_t focus, const struct sink *out,
                          struct arena *arena, struct err *e)
{
    static const char code[] = "ranks-summarised";
    struct row_health h = {.id = INT32_MAX - 1, .value = (int64_t)j->files.n - 1};
    const char *text = arena_printf(
        arena,
        "all records of %s are here; of the other %zu files the collectives, the computing beside "
        "them, the marks of steps and the batches",
        redact_path(j->files.at[focus].path, j->redact), j->files.n - 1);
    if (!text)
        return err_no_memory(e);
    if (j->rank && load_put_meta(out, "rows.rank", j->rank, 3, e) < 0)
        return -1;
    h.code = out->intern(out->self, code, sizeof code - 1);
    h.text = out->intern(out->self, text, strlen(text));
    return out->put(out->self, ROW_HEALTH, &h, e);
}

int many_pour(const struct job *j, size_t focus, const char *left_out, struct sink *out,
              struct arena *arena, struct err *e)
{
    struct redact *r = redact_open(*out, j->redact, e);
    if (!r)
        return -1;
    struct sink sink = redact_sink(r);
    int rc = job_pour(j, focus, &sink, e);
    if (rc == 0 && j->files.n > 1)
        rc = note_summaries(j, focus, &sink, arena, e);
    if (rc == 0 && left_out)
        rc = load_note_left_out(&sink, left_out, e);
    redact_close(r);
    return rc;
}
