/* The environment variables by which launchers number processes. */
#include "tests/unit/test.h"
#include "wire/launcher.h"

#include <stdio.h>

/* "NAME=value NAME=value": the environment of a case. */
static const char *variables;

static const char *get(const char *name)
{
    static char values[8][64];
    static int next;
    size_t n = strlen(name);
    for (const char *at = variables; *at; at += strcspn(at, " "), at += *at == ' ') {
        if (strncmp(at, name, n) != 0 || at[n] != '=')
            continue;
        char *value = values[next++ % 8];
        snprintf(value, sizeof values[0], "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
        return value;
    }
    return NULL;
}

static const struct {
    const char *variables, *rank, *local_rank, *world_size, *job; /* "" = not known */
} cases[] = {
    {"HOME=/root", "", "", "", ""},
    {"RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 TORCHELASTIC_RUN_ID=none", "3", "1", "8", ""},
    {"RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 TORCHELASTIC_RUN_ID=night", "3", "1", "8", "night"},
    {"OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=6", "5", "1", "6",
     ""},
    {"MV2_COMM_WORLD_RANK=2 MV2_COMM_WORLD_LOCAL_RANK=0 MV2_COMM_WORLD_SIZE=4", "2", "0", "4", ""},
    {"MVP_COMM_WORLD_RANK=2 MVP_COMM_WORLD_LOCAL_RANK=0 MVP_COMM_WORLD_SIZE=4", "2", "0", "4", ""},
    {"PMI_RANK=1 MPI_LOCALRANKID=1 PMI_SIZE=2 PBS_JOBID=9.pbs", "1", "1", "2", "9.pbs"},
    {"PALS_RANKID=7 PALS_LOCAL_RANKID=3", "7", "3", "", ""},
    {"FLUX_TASK_RANK=4 FLUX_TASK_LOCAL_ID=0 FLUX_JOB_SIZE=8 FLUX_JOB_ID=f1", "4", "0", "8", "f1"},
    {"SLURM_PROCID=6 SLURM_LOCALID=2 SLURM_NTASKS=8 SLURM_JOB_ID=55", "6", "2", "8", "55"},
    /* a step of 4 in a job of 16 */
    {"SLURM_PROCID=3 SLURM_LOCALID=3 SLURM_NTASKS=16 SLURM_STEP_NUM_TASKS=4", "3", "3", "4", ""},
    /* srun --mpi=pmix of a program that knows PMIx alone */
    {"PMIX_RANK=1 SLURM_PROCID=1 SLURM_LOCALID=1 SLURM_NTASKS=2", "1", "1", "2", ""},
    {"PMIX_RANK=1", "1", "", "", ""},
    {"JOB_COMPLETION_INDEX=2", "2", "", "", ""},
    /* torchrun in each of two pods, and under srun with a task a node */
    {"RANK=9 LOCAL_RANK=1 WORLD_SIZE=16 JOB_COMPLETION_INDEX=1", "9", "1", "16", ""},
    {"RANK=9 LOCAL_RANK=1 WORLD_SIZE=16 SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_NTASKS=2", "9", "1",
     "16", ""},
    {"RANK= SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_NTASKS=2", "1", "0", "2", ""},
};

static const char *text(const char *value)
{
    return value ? value : "";
}

TEST_EACH(the_innermost_launcher_numbers_the_process, 0, sizeof cases / sizeof *cases)
{
    variables = cases[_i].variables;
    struct launched l = launcher_find(get);
    ck_assert_str_eq(text(l.rank), cases[_i].rank);
    ck_assert_str_eq(text(l.local_rank), cases[_i].local_rank);
    ck_assert_str_eq(text(l.world_size), cases[_i].world_size);
    ck_assert_str_eq(text(l.job), cases[_i].job);
}
