/* Makes a small run and passes it to an exporter. */
#ifndef GPUPROF_TESTS_EXPORTED_H
#define GPUPROF_TESTS_EXPORTED_H

#include "report/export.h"
#include "tests/unit/build_timeline.h"

#define EVIL_NAME "</script><img src=x onerror=alert(1)>"

/* Twelve steps of 10 ms: a wait for data, a copy, three kernels of which two overlap, a wait. */
static inline struct advice *exported_run(struct builder *b, const char *device)
{
    *b = build_start_on(device, 9, 0);
    build_meta(b, "command", "train --loss \"<b>\"");
    build_meta(b, "have", "kernels,copies,memory_kinds,api,sync,ranges,device,memsets");
    for (int i = 0; i < 12; i++) {
        int64_t at = MS(10) * i + MS(1);
        build_range(b, "step", at, at + MS(10) - US(5));
        build_range(b, "data.wait", at + US(10), at + MS(4));
        build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 1 << 20, at + MS(4) + US(10),
                   US(100), at + MS(4) + US(50), US(300));
        build_kernel(b, "volta_sgemm_128x64_nn", at + MS(4) + US(200), at + MS(5), MS(1));
        build_kernel(b, EVIL_NAME, at + MS(4) + US(210), at + MS(6) - US(100), MS(1));
        build_kernel(b, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", at + MS(4) + US(220),
                     at + MS(7), MS(1));
        build_sync(b, at + MS(4) + US(300), MS(4));
    }
    for (int i = 0; i < 2; i++) { /* covers 100 ms, of which the thread runs in 40 */
        struct row_host_sample s = {.id = ++b->next_id,
                                    .process = 1,
                                    .thread = 1,
                                    .time_ns = MS(1) + i * MS(100),
                                    .cpu_ns = i * MS(40),
                                    .run_queue_ns = i * MS(10),
                                    .io_wait_ns = -1,
                                    .major_faults = 7 + i * 3,
                                    .storage_bytes = i * 2000000,
                                    .read_bytes = i * 8000000};
        build_put(b, ROW_HOST_SAMPLE, &s);
    }
    build_health(b, "clock", "a warning to show", 1, 3);
    return build_analyze(b);
}

/* The output of exporter `name`; the caller frees it. */
/* What an exporter writes of an analysis, and how many bytes; the caller frees it. */
static inline char *exported_bytes(const char *name, const struct advice *a, size_t *size)
{
    struct err e = ERR_INIT;
    struct export_options o = {.title = "train", .source = "dir/train.gpuprof", .width = 100};
    static char
        *out; /* static: GCC 12 takes what open_memstream stores for a pointer into the frame */
    static size_t n;
    FILE *f = open_memstream(&out, &n);
    if (exporter_find(name)->analysis(a, &o, f, &e)) {
        fprintf(stderr, "%s: %s\n", name, e.text);
        abort();
    }
    fclose(f);
    *size = n;
    return out;
}

/* The same as text: zeros of a binary format become spaces. */
static inline char *exported(const char *name, const struct advice *a)
{
    size_t n;
    char *out = exported_bytes(name, a, &n);
    for (size_t i = 0; i < n; i++)
        out[i] = out[i] ? out[i] : ' ';
    return out;
}

static inline int occurrences(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = strstr(text, part); p; p = strstr(p + 1, part))
        n++;
    return n;
}

#endif
