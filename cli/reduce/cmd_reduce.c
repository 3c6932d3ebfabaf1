/* reduce: the recordings of all ranks into one small profile. */
#include "cli/common/command.h"
#include "cli/common/load.h"
#include "cli/common/many.h"
#include "cli/common/output.h"
#include "cli/common/results.h"
#include "cli/reduce/reduce.h"

#include "analyzer/profile/store.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool force;
static const char *output;
static int workers;

static const struct option_spec options[] = {
    {"output", 'o', OPTION_STRING, &output, "FILE", "the profile to write"},
    {"jobs", 'j', OPTION_INT, &workers, "N", "processes that read; all usable cores by default"},
    LOAD_REDACT,
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    {0},
};

static int usable_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* What an earlier call wrote into the same folder is no rank. */
static void leave_out_output(struct import_files *l)
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

static int write_profile(struct job *job, struct err *e)
{
    struct arena arena = ARENA_INIT;
    const char *left_out = NULL;
    struct store *s = store_create(output, force, e);
    struct sink sink = s ? store_sink(s) : (struct sink){0};
    int rc =
        s && many_pour(job, &sink, &arena, &left_out, e) == 0 && store_finish(s, e) == 0 ? 0 : -1;
    if (rc == 0)
        say("wrote %s: %zu files, %lld rows%s%s", output, job->files.n, (long long)store_rows(s),
            left_out ? "; " : "", left_out ? left_out : "");
    store_close(s);
    arena_release(&arena);
    return rc;
}

static int reduce(const struct import_files *files, struct err *e)
{
    struct parts parts;
    struct job job = {0};
    int rc = parts_open(&parts, files, output, workers, e) < 0 || parts_make(&parts, e) < 0 ||
                     parts_merge(&parts, &job, e) < 0 || write_profile(&job, e) < 0
                 ? -1
                 : 0;
    if (rc == 0 || parts.n == 1) /* few files are soon read again */
        parts_remove(&parts);
    parts_close(&parts);
    job_release(&job);
    return rc;
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct import_files files;
    if (argc < 1)
        return usage_error("reduce: name the ranks' folder or files: gpuprof reduce DIR -o FILE");
    if (!output)
        return usage_error("reduce: say where to: -o FILE.gpuprof");
    if (workers < 0 || workers > 1024)
        return usage_error("reduce: --jobs needs a number of processes, 1 to 1024");
    workers = workers ? workers : usable_cores();
    if (output_check(output, force, &e) ||
        import_list((const char *const *)argv, (size_t)argc, &files, &e))
        return fail(&e);
    leave_out_output(&files);
    int status = files.n == 0 ? usage_error("reduce: no trace or profile besides %s", output)
                 : reduce(&files, &e) < 0 ? fail(&e)
                                          : 0;
    import_list_release(&files);
    if (status == 0 && results_make(output, &(struct results_options){.quiet = true}, &e))
        say("cannot analyse %s: %s", output, e.text);
    return status;
}

const struct command cmd_reduce = {
    .name = "reduce",
    .usage = "DIR|FILE... -o FILE",
    .help = "make one small profile of the recordings of many ranks",
    .details = "Reads the recordings of all ranks (profiles, Kineto traces, nsys exports) on all\n"
               "usable cores. The profile has all records of the rank that the analysis is\n"
               "about, and of every other rank a few KB per step: its collectives, marks of\n"
               "steps and batches. The other commands read it, and give the same answer as for\n"
               "the folder. A damaged file is named and left out. If it is stopped, the same\n"
               "command goes on where it was.\n\n"
               "  gpuprof reduce traces/ -o job.gpuprof\n"
               "  gpuprof report job.gpuprof",
    .options = options,
    .run = run,
};
