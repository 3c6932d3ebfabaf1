/* Sums up the clocks of the program's threads in the steps. */
#include "analyzer/queries/input/feed_cpu.h"

#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <stdlib.h>

static bool in_window(const struct facts *f, int64_t ns)
{
    return f->steps.count && ns >= f->steps.at[0].start_ns &&
           ns <= f->steps.at[f->steps.count - 1].end_ns;
}

/* First and last sample of a thread's clocks within the steps. */
struct grown {
    const struct row_host_sample *first, *last;
};

/* By process index: it makes batches for the training process. Other ranks and other programs,
 * whose own threads train, are no workers. NULL: out of memory. */
static bool *worker_processes(const struct facts *facts)
{
    const struct timeline *t = facts->tl;
    bool *makes = calloc(t->process_count + 1, sizeof *makes);
    for (size_t i = 0; makes && i < t->loader_count; i++) {
        const struct row_loader *l = &t->loaders[i];
        uint32_t th = timeline_thread_index(t, l->thread);
        if (l->what == SPOOL_LOADER_FETCH && l->worker >= 0 && th != TL_NONE &&
            t->threads[th].process != facts->steps.process)
            makes[t->threads[th].process] = true;
    }
    return makes;
}

/* *cpu: share of time in which the thread computes; *line: share in which it waits for a core, -1 =
 * not sampled. Between its first and last sample in the steps. False: too short, or no samples. */
static bool rates(const struct grown *g, double *cpu, double *line)
{
    if (!g->first)
        return false;
    double ns = (double)g->last->time_ns - (double)g->first->time_ns;
    double queue = (double)g->last->run_queue_ns - (double)g->first->run_queue_ns;
    if (ns < QUERY_SAMPLED_NS)
        return false;
    *cpu = ((double)g->last->cpu_ns - (double)g->first->cpu_ns) / ns;
    *line = g->first->run_queue_ns >= 0 && queue >= 0 ? queue / ns : -1;
    return true;
}

/* CPU use of a thread, without spinning. PyTorch's helper threads compute only while the training
 * thread does. CPU time beyond that is spinning: OpenMP's threads spin for a while after their
 * work, and give up the core to any thread that needs it. Helper threads make no recorded calls. */
static double cpu_without_spinning(const struct facts *facts, uint32_t thread, double cpu,
                                   double main_cpu)
{
    const struct thread *th = &facts->tl->threads[thread];
    const char *threads = timeline_meta(facts->tl, FACT_TORCH_NUM_THREADS);
    bool helper = thread != facts->steps.main_thread && th->apis == 0 && th->ranges == 0 &&
                  threads && atoi(threads) > 1;
    return helper && main_cpu >= 0 && cpu > main_cpu ? main_cpu : cpu;
}

static void add_threads(const struct facts *facts, const bool *works, const struct grown *of,
                        struct cpu_use *u)
{
    (void)rates(&of[facts->steps.main_thread], &u->main_cpu, &u->main_line);
    double workers = 0, worker_cpu = 0, worker_line = 0, cpu, line;
    for (uint32_t i = 0; i < facts->tl->thread_count; i++) {
        if (!rates(&of[i], &cpu, &line))
            continue;
        u->all = (u->all < 0 ? 0 : u->all) + cpu;
        u->lines = (u->lines < 0 ? 0 : u->lines) + (line > 0 ? line : 0);
        if (facts->tl->threads[i].process == facts->steps.process) {
            u->trains =
                (u->trains < 0 ? 0 : u->trains) + cpu_without_spinning(facts, i, cpu, u->main_cpu);
        } else if (works[facts->tl->threads[i].process] && line >= 0) {
            workers++;
            worker_cpu += cpu;
            worker_line += line;
        }
    }
    if (workers > 0) {
        u->worker_cpu = worker_cpu / workers;
        u->worker_line = worker_line / workers;
    }
}

struct cpu_use query_cpu_use(const struct facts *facts)
{
    struct cpu_use u = {-1, -1, -1, -1, -1, -1, -1};
    struct grown *of = calloc(facts->tl->thread_count + 1, sizeof *of);
    bool *works = worker_processes(facts);
    for (size_t i = 0; of && i < facts->tl->host_sample_count; i++) {
        const struct row_host_sample *s = &facts->tl->host_samples[i];
        uint32_t th = timeline_thread_index(facts->tl, s->thread);
        if (th == TL_NONE || s->cpu_ns < 0 || !in_window(facts, s->time_ns))
            continue;
        if (!of[th].first || s->time_ns < of[th].first->time_ns)
            of[th].first = s;
        if (!of[th].last || s->time_ns > of[th].last->time_ns)
            of[th].last = s;
    }
    if (of && works)
        add_threads(facts, works, of, &u);
    free(of);
    free(works);
    return u;
}
