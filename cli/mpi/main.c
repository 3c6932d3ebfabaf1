/* gpuprof-mpi: does what `gpuprof reduce` does, with the processes of an MPI job. Process 0 lists
 * the files; each process summarises its share; the summaries are merged into process 0, which
 * writes the profile. Process 0 prints all lines and sets the exit status. */
#include "cli/common/command.h"
#include "cli/load/load.h"
#include "cli/load/many.h"
#include "cli/mpi/world.h"
#include "cli/reduce/reduce.h"

#include "analyzer/profile/store.h"
#include "analyzer/reduce/share.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool force, version;
static struct load_how how;
static const char *output;

static const struct option_spec options[] = {
    {"output", 'o', OPTION_STRING, &output, "FILE", "the profile to write"},
    LOAD_REDACT(how),
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    {"version", 'V', OPTION_FLAG, &version, NULL, "the version"},
    {0},
};

static const struct command mpi = {
    .name = "mpi",
    .usage = "DIR|FILE... -o FILE",
    .help = "make one small profile of the recordings of many ranks, by an MPI job",
    .details = "Makes the profile that `gpuprof reduce` makes; the processes of the MPI job read\n"
               "the recordings, also on several nodes. All of them must see the files.\n\n"
               "  mpirun -n 16 gpuprof-mpi traces/ -o job.gpuprof\n"
               "  srun --kill-on-bad-exit gpuprof-mpi traces/ -o job.gpuprof",
    .options = options,
    .own_program = true,
};

/* ---- the list of files, which process 0 sends to all ---- */

struct listed {
    struct VEC(char *) paths;
    struct VEC(int64_t) bytes;
};

static void listed_release(struct listed *l)
{
    for (size_t i = 0; i < l->paths.n; i++)
        free(l->paths.at[i]);
    vec_release(&l->paths);
    vec_release(&l->bytes);
}

static int pack_list(const struct import_files *files, struct bytes *b, struct err *e)
{
    int rc = bytes_put_int(b, how.redact);
    for (size_t i = 0; rc == 0 && i < files->n; i++) {
        struct stat st = {0};
        if (stat(files->at[i], &st) < 0)
            st.st_size = 0; /* the process that reads it reports why it cannot */
        if (bytes_put_text(b, files->at[i], strlen(files->at[i])) < 0 ||
            bytes_put_int(b, st.st_size) < 0)
            rc = -1;
    }
    return rc < 0 ? err_no_memory(e) : 0;
}

static int unpack_list(const struct bytes *b, struct listed *l, struct err *e)
{
    size_t at = 0, n;
    int64_t redact = 0;
    const char *path;
    int rc = bytes_get_int(b, &at, &redact);
    how.redact = redact;
    while (rc == 0 && at < b->n) {
        char **to = vec_push(&l->paths);
        int64_t *bytes = vec_push(&l->bytes);
        if (!to || !bytes || bytes_get_text(b, &at, &path, &n) < 0 || !(*to = strndup(path, n)) ||
            bytes_get_int(b, &at, bytes) < 0)
            rc = -1;
    }
    return rc < 0 ? err_no_memory(e) : 0;
}

/* ---- process 0 ---- */

static void ended(int signal_number)
{
    static const char line[] = "gpuprof: mpi: the launcher ended this job before the profile was "
                               "written: a process died, or somebody cancelled it\n";
    ssize_t wrote = write(STDERR_FILENO, line, sizeof line - 1);
    (void)signal_number, (void)wrote;
    _exit(2);
}

/* Checks that the profile can be written, before all files are read. */
static int try_output(struct err *e)
{
    struct store *s = store_create(output, force, e);
    store_close(s);
    return s ? 0 : -1;
}

/* Lists the files. Returns the exit status; the list stays empty if there is nothing to do. */
static int plan(int argc, char **argv, struct bytes *list)
{
    struct err e = ERR_INIT;
    struct import_files files = {0};
    int left = options_parse(&mpi, argc, argv, true);
    if (left < 0)
        return left == OPTIONS_HELP ? 0 : 2;
    if (version)
        return printf("gpuprof-mpi %s\n", GPUPROF_VERSION) < 0 ? 2 : 0;
    if (left < 1)
        return usage_error("mpi: name the ranks' folder or files: gpuprof-mpi DIR -o FILE");
    if (!output)
        return usage_error("mpi: say where to: -o FILE.gpuprof");
    int rc = reduce_list(left, argv, output, force, &files, &e) < 0 || try_output(&e) < 0 ||
                     pack_list(&files, list, &e) < 0
                 ? -1
                 : 0;
    import_list_release(&files);
    if (rc == 0)
        return 0;
    bytes_release(list);
    return fail(&e);
}

/* The analysis needs memory for all rows of the profile, and each process of a job has little. */
enum { MOST_ROWS = 250000 };

static int write_job(struct job *job, struct err *e)
{
    int64_t rows;
    int rc = reduce_write(job, output, force, &rows, e);
    signal(SIGTERM, SIG_DFL); /* the profile is written: a signal does no harm from now on */
    /* Before the analysis, which needs the memory; malloc_trim returns the many small parts. */
    job_release(job);
    malloc_trim(0);
    if (rc == 0 && rows <= MOST_ROWS)
        reduce_analyse(output, &how);
    else if (rc == 0)
        say("`gpuprof analyze %s` analyses it: the analysis of so many rows needs more memory than "
            "a process of a job should take",
            output);
    return rc;
}

/* ---- all processes ---- */

static int summarise(const struct world *w, const struct bytes *list, struct job *job,
                     struct err *e)
{
    struct listed l = {0};
    int rc = unpack_list(list, &l, e);
    job->redact = how.redact;
    size_t n = l.paths.n, process = (size_t)w->process, processes = (size_t)w->processes;
    size_t end = share_first(l.bytes.at, n, process + 1, processes);
    for (size_t i = share_first(l.bytes.at, n, process, processes); rc == 0 && i < end; i++)
        rc = many_add(job, l.paths.at[i], e);
    listed_release(&l);
    return rc;
}

int main(int argc, char **argv)
{
    struct world w;
    struct bytes list = {0};
    struct job job = {0};
    struct err e = ERR_INIT;
    world_open(&w);
    if (w.process == 0)
        signal(SIGTERM, ended);
    int status = w.process == 0 ? plan(argc - 1, argv + 1, &list) : 0;
    world_share(&w, &list);
    if (list.n > 0) {
        bool failed = summarise(&w, &list, &job, &e) < 0;
        failed = world_merge(&w, &job, failed, &e) < 0;
        world_close(); /* the other processes are done */
        if (w.process == 0 && (failed || write_job(&job, &e) < 0))
            status = fail(&e);
    } else
        world_close();
    job_release(&job);
    bytes_release(&list);
    return status;
}
