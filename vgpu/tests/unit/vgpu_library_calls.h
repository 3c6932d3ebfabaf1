/* Records which kernels a library's calls launch on the virtual GPU: the test sees them as CUPTI
 * would, through the core's sink. Each test is a process of its own (Check forks), so each chooses
 * its device. */
#ifndef GPUPROF_TESTS_VGPU_LIBRARY_CALLS_H
#define GPUPROF_TESTS_VGPU_LIBRARY_CALLS_H

#include "core/core_state.h"

#include <check.h>
#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEEN = 256 };
static const char *seen[MAX_SEEN];
static int64_t seen_ns[MAX_SEEN];
static int seen_count, sync_count;

static inline void note(const struct vg_record *r)
{
    if (r->kind == VG_REC_SYNC)
        sync_count++;
    if (r->kind != VG_REC_KERNEL || seen_count == MAX_SEEN)
        return;
    seen[seen_count] = r->kernel.name;
    seen_ns[seen_count++] = r->end_ns - r->start_ns;
}

static inline void on_device(const char *model)
{
    static const struct vg_sink sink = {.record = note};
    char text[64];
    snprintf(text, sizeof text, "%s,noise=0,connect=0", model);
    setenv("GPUPROF_VGPU", text, 1);
    unsetenv("NVIDIA_TF32_OVERRIDE");
    vg_set_sink(&sink);
}

static inline int launched(const char *part)
{
    int n = 0;
    for (int i = 0; i < seen_count; i++)
        n += strstr(seen[i], part) != NULL;
    return n;
}

static inline int64_t device_ns(void)
{
    int64_t ns = 0;
    for (int i = 0; i < seen_count; i++)
        ns += seen_ns[i];
    return ns;
}

#endif
