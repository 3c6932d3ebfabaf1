/* The variables by which launchers number the processes of a job. The agent reads them inside the
 * program, gpuprof run outside of it. If several launchers have numbered a process, the innermost
 * one counts: PyTorch's inside MPI's inside the batch system's. */
#ifndef GPUPROF_WIRE_LAUNCHER_H
#define GPUPROF_WIRE_LAUNCHER_H

#include <stddef.h>
#include <string.h>

struct launcher {
    const char *rank, *local_rank, *world_size; /* NULL: the launcher has no such variable */
};

struct launched {
    const char *rank, *local_rank, *world_size; /* values; NULL: unknown */
    const char *job;                            /* the batch system's name for the job */
    const char *restart;                        /* how often PyTorch has restarted the workers */
};

static inline const char *launcher_value(const char *(*get)(const char *name), const char *name)
{
    const char *value = name ? get(name) : NULL;
    return value && *value ? value : NULL;
}

/* The job's name, or NULL. torchrun gives jobs without a name the name "none". */
static inline const char *launcher_job(const char *(*get)(const char *name))
{
    static const char *const names[] = {"SLURM_JOB_ID", "FLUX_JOB_ID",         "PBS_JOBID",
                                        "LSB_JOBID",    "TORCHELASTIC_RUN_ID", NULL};
    for (const char *const *n = names; *n; n++) {
        const char *value = launcher_value(get, *n);
        if (value && strcmp(value, "none") != 0)
            return value;
    }
    return NULL;
}

static inline struct launched launcher_find(const char *(*get)(const char *name))
{
    static const struct launcher all[] = {
        {"RANK", "LOCAL_RANK", "WORLD_SIZE"}, /* PyTorch, and launchers that imitate it */
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"},
        {"MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_LOCAL_RANK", "MVP_COMM_WORLD_SIZE"},
        {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"}, /* MPICH, Intel MPI */
        {"PALS_RANKID", "PALS_LOCAL_RANKID", NULL},  /* Cray */
        {"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE"},
        {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS"},
        {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
        {"PMIX_RANK", NULL, NULL},
        {"JOB_COMPLETION_INDEX", NULL, NULL}, /* an indexed job of Kubernetes */
    };
    struct launched l = {.job = launcher_job(get),
                         .restart = launcher_value(get, "TORCHELASTIC_RESTART_COUNT")};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *rank = launcher_value(get, all[i].rank);
        l.rank = l.rank ? l.rank : rank;
        if (!rank)
            continue;
        l.local_rank = l.local_rank ? l.local_rank : launcher_value(get, all[i].local_rank);
        l.world_size = l.world_size ? l.world_size : launcher_value(get, all[i].world_size);
    }
    return l;
}

#endif
