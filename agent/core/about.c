/* Writes what is known of this process: META, HEALTH and THREAD records. No hot path calls it. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "agent/core/resolve.h"
#include "agent/core/spool.h"
#include "wire/fact_keys.h"
#include "wire/launcher.h"

static void put_meta(struct thread *t, enum spool_rec_kind kind, uint32_t tid, uint32_t key,
                     uint32_t value)
{
    struct spool_rec_meta *r = t ? ring_reserve(t, kind, sizeof *r) : NULL;
    if (!r)
        return;
    r->head.start_ns = r->head.end_ns = clock_now_ns();
    r->head.tid = tid;
    r->key = key;
    r->value = value;
    ring_commit(t);
}

void about_meta(struct thread *t, const char *key, const char *value)
{
    if (t && value && *value)
        put_meta(t, SPOOL_REC_META, t->tid, strings_add(key, strlen(key)),
                 strings_add(value, strlen(value)));
}

void about_meta_number(struct thread *t, const char *key, long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    about_meta(t, key, text);
}

void about_health(struct thread *t, enum spool_severity severity, const char *code,
                  const char *text, int64_t value)
{
    struct spool_rec_health *r = t ? ring_reserve(t, SPOOL_REC_HEALTH, sizeof *r) : NULL;
    if (!r)
        return;
    r->head.start_ns = r->head.end_ns = clock_now_ns();
    r->severity = (uint32_t)severity;
    r->code = strings_add(code, strlen(code));
    r->text = strings_add(text, strlen(text));
    r->value = value;
    ring_commit(t);
}

void about_thread_name(struct thread *t, uint32_t tid, const char *name)
{
    char own[32] = "";
    if (!name && prctl(PR_GET_NAME, own, 0, 0, 0) == 0)
        name = own;
    if (name && *name)
        put_meta(t, SPOOL_REC_THREAD, tid, strings_add(name, strlen(name)), 0);
}

/* Writes the command line: the arguments from /proc/self/cmdline, each ended by a NUL. */
static void command_line(struct thread *t)
{
    char text[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return;
    text[n] = 0;
    if (t)
        put_meta(t, SPOOL_REC_META, t->tid, strings_add("command", 7),
                 strings_add(text, (size_t)n));
}

/* Writes which rank this process is, of how many, by its launcher's variables, and on which
 * host. */
static void place_in_job(struct thread *t)
{
    struct launched l = launcher_find(agent_env);
    char host[256] = "";
    about_meta(t, "rank", l.rank);
    about_meta(t, "local_rank", l.local_rank);
    about_meta(t, "world_size", l.world_size);
    about_meta(t, "job", l.job);
    about_meta(t, "restart", l.restart);
    if (gethostname(host, sizeof host - 1) == 0)
        about_meta(t, "host", host);
}

static void environment(struct thread *t)
{
    static const char *const kept[] = {"CUDA_LAUNCH_BLOCKING", "OMP_NUM_THREADS",
                                       "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE",
                                       "NCCL_DEBUG",           "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
                                       "GPUPROF_APPLY",        "GPUPROF_VGPU"};
    for (size_t i = 0; i < AGENT_ARRAY_LEN(kept); i++) {
        char key[64];
        snprintf(key, sizeof key, "env.%s", kept[i]);
        about_meta(t, key, agent_env(kept[i]));
    }
}

/* Writes how many cores this process may use. taskset or a launcher may have given it fewer than
 * the machine has. */
static void cores(struct thread *t)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        about_meta_number(t, FACT_PROCESS_CORES, CPU_COUNT(&set));
}

void about_process(struct thread *t)
{
    char exe[4096];
    command_line(t);
    cores(t);
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n > 0) {
        exe[n] = 0;
        about_meta(t, "exe", exe);
    }
    place_in_job(t);
    environment(t);
}

/* ---- versions of the libraries the program uses ---- */

static int status_version(void *fn) /* fn: int f(int *version) */
{
    int v = 0;
    return ((int (*)(int *))fn)(&v) == 0 ? v : 0;
}

static int plain_version(void *fn) /* fn: size_t f(void) */
{
    return (int)((size_t(*)(void))fn)();
}

/* fn: int f(which, int *value); which: 0 major, 1 minor, 2 patch */
static int property_version(void *fn)
{
    int part[3] = {0};
    for (int i = 0; i < 3; i++)
        if (((int (*)(int, int *))fn)(i, &part[i]) != 0)
            return 0;
    return part[0] * 10000 + part[1] * 100 + part[2];
}

/* Where each version comes from. None of these functions initialises CUDA. */
static const struct library {
    const char *stem, *symbol, *key;
    int (*read)(void *fn);
} libraries[] = {
    {"libcudart.so", "cudaRuntimeGetVersion", "runtime_version", status_version},
    {"libcudart.so", "cudaDriverGetVersion", "driver_version", status_version},
    {"libcuda.so", "cuDriverGetVersion", "driver_version", status_version},
    {"libcublas.so", "cublasGetProperty", "cublas_version", property_version},
    {"libcudnn.so", "cudnnGetVersion", "cudnn_version", plain_version},
    {"libnccl.so", "ncclGetVersion", "nccl_version", status_version},
};

void about_libraries(struct thread *t)
{
    static int reported[AGENT_ARRAY_LEN(libraries)];
    static unsigned long long seen;
    static uint32_t generation;
    unsigned long long now = resolve_loads();
    if (now == seen && generation == agent.generation)
        return;
    if (generation != agent.generation)
        memset(reported, 0, sizeof reported);
    seen = now;
    generation = agent.generation;
    for (size_t i = 0; i < AGENT_ARRAY_LEN(libraries); i++) {
        const struct library *l = &libraries[i];
        char path[4096];
        if (reported[i] || resolve_path(l->stem, path, sizeof path) != 0)
            continue;
        void *handle = resolve_loaded(path);
        void *fn = resolve_symbol(handle, l->symbol);
        int version = fn ? l->read(fn) : 0;
        resolve_close(handle);
        reported[i] = 1;
        if (version > 0)
            about_meta_number(t, l->key, version);
    }
}
