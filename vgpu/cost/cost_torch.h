/* Shared by the files cost_torch*.c; private to cost/. */
#ifndef VGPU_COST_TORCH_H
#define VGPU_COST_TORCH_H

#include "core/core.h"

struct torch_launch {
    const struct vg_profile *p;
    const char *name;
    const unsigned *grid, *block;
    void *const *args; /* NULL: unknown (a node of a graph) */
    double blocks, threads;
};

/* The number behind the first `text` in a name; `unset` if there is none. */
double torch_number_behind(const char *name, const char *text, double unset);
/* Time in ns for so many bytes at that share of the memory's rate. */
double torch_memory(const struct torch_launch *l, double bytes, double share);

double torch_channels_last_norm(const struct torch_launch *l);
double torch_norm(const struct torch_launch *l);
double torch_cat(const struct torch_launch *l);
double torch_flash(const struct torch_launch *l);
double torch_fmha(const struct torch_launch *l);

#endif
