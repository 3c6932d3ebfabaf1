/* Queries on the time by line, and texts for a line. */
#include "analyzer/facts/lines.h"

#include <stdio.h>
#include <string.h>

const struct lines *facts_lines(const struct facts *f, enum lines_of which)
{
    static const struct lines none;
    return f->lines ? &f->lines->of[which] : &none;
}

const struct gpu_lines *facts_gpu_lines(const struct facts *f)
{
    static const struct gpu_lines none;
    return f->lines ? &f->lines->gpu : &none;
}

uint32_t facts_module_of(const struct timeline *t, uint32_t stack)
{
    uint32_t caller = timeline_stack_index(t, t->stacks[stack].caller);
    return caller != TL_NONE && !tl_text(t, t->stacks[caller].file)[0] ? caller : TL_NONE;
}

bool facts_gpu_lines_sum(const struct facts *f, uint32_t op)
{
    uint32_t step = f->steps.op_step[op];
    return step != TL_NONE && f->steps.at[step].used && f->lines->gpu.of_step[step] &&
           (f->steps.device == TL_NONE || tl_op_device(f->tl, op) == f->steps.device);
}

int64_t facts_line_looks(const struct facts *f)
{
    return f->lines ? f->lines->looks : 0;
}

const struct line *facts_line_of(const struct facts *f, uint32_t parts, int64_t *ns)
{
    const struct lines *all = facts_lines(f, LINES_STEP);
    const struct line *best = NULL;
    *ns = 0;
    for (size_t i = 0; i < all->count; i++) {
        int64_t sum = 0;
        for (int p = 0; p < PART_COUNT; p++)
            sum += parts >> p & 1 ? all->at[i].part_ns[p] : 0;
        if (sum > *ns) {
            best = &all->at[i];
            *ns = sum;
        }
    }
    return best;
}

const char *line_does_text(const struct line *l)
{
    static const char *const calls[][2] = {
        {"nanosleep", "sleeps"},
        {"wait4", "waits for another process"},
        {"futex", "waits for a lock or another thread"},
        {"poll", "waits for a file, a pipe or the network"},
        {"read", "waits for a file, a pipe or the network"},
        {"recv", "waits for a file, a pipe or the network"},
        {"fsync", "waits for a disk"},
        {"write", "waits for a file, a pipe or the network"},
    };
    switch ((enum line_does)l->does) {
    case LINE_STARVES:
        return "ready, without a core";
    case LINE_DISK:
        return "waits for a disk or a driver";
    case LINE_BACKWARD:
        return "PyTorch's backward thread works";
    case LINE_SLEEPS:
        /* the system call may be a read from a pipe or wait4 */
        if (strncmp(l->called, "subprocess.", 11) == 0)
            return "waits for another process";
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            if (strcmp(l->call, calls[i][0]) == 0)
                return calls[i][1];
        return "sleeps";
    default:
        return "computes";
    }
}

const char *line_text(const struct line *l, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s%s%s (%s)", l->function, *l->function ? "() " : "", l->place,
             *l->called ? ", in " : "", l->called, line_does_text(l));
    return out;
}
