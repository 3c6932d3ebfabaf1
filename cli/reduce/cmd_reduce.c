/* reduce: turns the recordings of all ranks into one small profile. */
#include "cli/common/command.h"
#include "cli/load/load.h"
#include "cli/load/many.h"
#include "cli/reduce/reduce.h"

static bool force;
static struct load_how how;
static const char *output;
static int workers;

static const struct option_spec options[] = {
    {"output", 'o', OPTION_STRING, &output, "FILE", "the profile to write"},
    {"jobs", 'j', OPTION_INT, &workers, "N", "processes that read; all usable cores by default"},
    LOAD_RANK(how),
    LOAD_REDACT(how),
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    {0},
};

static int reduce(const struct import_files *files, struct err *e)
{
    struct parts parts;
    struct job job = {.redact = how.redact, .rank = how.rank};
    int64_t rows;
    int rc = parts_open(&parts, files, output, workers, how.redact, e) < 0 ||
                     parts_make(&parts, e) < 0 || parts_merge(&parts, &job, e) < 0 ||
                     reduce_write(&job, output, force, &rows, e) < 0
                 ? -1
                 : 0;
    /* After a failure the parts of many files stay, to go on; one part is soon made again. */
    if (rc == 0 || parts.n == 1)
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
    workers = workers ? workers : many_cores();
    if (reduce_list(argc, argv, output, force, &files, &e) < 0)
        return fail(&e);
    int status = reduce(&files, &e) < 0 ? fail(&e) : 0;
    import_list_release(&files);
    if (status == 0)
        reduce_analyse(output, &how);
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
