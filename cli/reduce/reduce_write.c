/* Beginning and end of a reduction, shared by `reduce` and gpuprof-mpi: the list of files, and the
 * profile. */
#include "cli/reduce/reduce.h"

#include "analyzer/profile/store.h"
#include "cli/common/command.h"
#include "cli/load/many.h"
#include "cli/common/output.h"
#include "cli/results/results.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Removes the output of an earlier call in the same folder: it is no rank. */
static void leave_out_output(struct import_files *l, const char *output)
{
    struct stat out, in;
    size_t kept = 0;
    bool there = stat(output, &out) == 0;
    for (size_t i = 0; i < l->n; i++)
        if (there && stat(l->at[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            free(l->at[i]);
        else
            l->at[kept++] = l->at[i];
    l->n = kept;
}

int reduce_list(int argc, char **argv, const char *output, bool force, struct import_files *l,
                struct err *e)
{
    if (output_check(output, force, e) < 0 ||
        import_list((const char *const *)argv, (size_t)argc, l, e) < 0)
        return -1;
    leave_out_output(l, output);
    if (l->n > 0)
        return 0;
    import_list_release(l);
    return err_set(e, "no trace or profile besides %s", output);
}

int reduce_write(struct job *job, const char *output, bool force, int64_t *rows, struct err *e)
{
    struct arena arena = ARENA_INIT;
    const char *left_out = NULL;
    struct store *s = store_create(output, force, e);
    struct sink sink = s ? store_sink(s) : (struct sink){0};
    size_t focus;
    int rc = s && job_sort_out(job, &arena, &left_out, &focus, e) == 0 &&
                     many_pour(job, focus, left_out, &sink, &arena, e) == 0 &&
                     store_finish(s, e) == 0
                 ? 0
                 : -1;
    *rows = rc == 0 ? store_rows(s) : 0;
    if (rc == 0)
        say("wrote %s: %zu files, %lld rows%s%s", output, job->files.n, (long long)*rows,
            left_out ? "; " : "", left_out ? left_out : "");
    store_close(s);
    arena_release(&arena);
    return rc;
}

void reduce_analyse(const char *output, const struct load_how *how)
{
    struct err e = ERR_INIT;
    if (results_make(output, &(struct results_options){.quiet = true, .how = *how}, &e))
        say("cannot analyse %s: %s", output, e.text);
}
