/* See config.h. The defaults are tuned, as train_conv's are; every defect undoes one thing. */
#include "reference_workloads/amp/config.h"

#include "reference_workloads/common/check.h"
#include "reference_workloads/common/settings.h"

#include <string.h>

#define ROW(name, kind, field, min, max, choices, help)                                            \
    {                                                                                              \
        name, kind, offsetof(struct amp_config, field), min, max, choices, help                    \
    }

static const struct setting own[] = {
    ROW("scaler", SETTING_CHOICE, scaler, 0, 0, "fused|per_tensor|sync",
        "where to check for overflow: all gradients at once, each tensor, or the host"),
    ROW("weight-casts", SETTING_BOOL, weight_casts, 0, 1, NULL,
        "cast every weight again in each step, instead of in the update"),
    ROW("initial-scale", SETTING_FLOAT, initial_scale, 1, 16777216, NULL, "initial loss scale"),
    ROW("growth-interval", SETTING_INT, growth_interval, 1, 1e9, NULL,
        "steps without overflow until the scale doubles"),
    ROW("overflow-every", SETTING_INT, overflow_every, 0, 1e9, NULL,
        "steps between deliberately infinite gradients; 0: none"),
};

static const struct defect defects[] = {
    {"amp-off", "tensor-cores", "precision=fp32;batch=16", NULL,
     "computes in FP32, as if there were no mixed precision"},
    {"scaler-sync", "loss-scaling", "scaler=sync;log_work_us=2000", NULL,
     "reads on the host in every step whether gradients overflowed, and logs the scale"},
    {"scaler-per-tensor", "loss-scaling", "scaler=per_tensor;batch=8;image=128;cuda_graph=1", NULL,
     "checks every gradient tensor for overflow with its own kernel"},
    {"weight-casts", "type-casts", "weight_casts=1;batch=8;image=128;cuda_graph=1",
     "weight_casts=0", "casts every weight to fp16 again in each step"},
    {"nchw", "channels-last", "channels_last=0", NULL,
     "keeps activations in NCHW with tensor cores"},
    {"optimizer-loop", "fused-optimizer", "optimizer=loop;batch=32", NULL,
     "updates every tensor with five small kernels"},
};

enum { MOST_ROWS = 80 };

static struct settings settings(struct setting *rows, struct amp_config *c)
{
    size_t n;
    const struct setting *base = config_rows(&n);
    if (n + sizeof own / sizeof *own > MOST_ROWS)
        die(1, "more than %d settings", MOST_ROWS);
    memcpy(rows, base, n * sizeof *rows);
    memcpy(rows + n, own, sizeof own);
    return (struct settings){rows, n + sizeof own / sizeof *own, c};
}

static struct amp_config defaults(void)
{
    struct amp_config c = {
        .conv = config_defaults(), .growth_interval = 2000, .initial_scale = 65536};
    c.conv.precision = PRECISION_FP16;
    return c;
}

void amp_config_read(struct amp_config *c, int argc, char **argv)
{
    struct setting rows[MOST_ROWS];
    *c = defaults();
    struct settings k = settings(rows, c);
    settings_read(&k, defects, sizeof defects / sizeof *defects, argc, argv,
                  "usage: train_amp [--defect NAME|list] [options]\n"
                  "Trains a ResNet in mixed precision with dynamic loss scaling.\n"
                  "GPUPROF_APPLY=\"name=value;...\" changes settings, too.\n");
    config_check(&c->conv);
    if (c->conv.cuda_graph && (c->scaler == SCALER_SYNC || c->overflow_every > 0))
        die(2, "cuda_graph is refused: a graph holds neither scaler=sync nor overflow-every");
}

void amp_config_print(const struct amp_config *c)
{
    static const char *const always[] = {"depth",  "image",         "batch",     "precision",
                                         "scaler", "channels-last", "optimizer", "cuda-graph"};
    struct setting rows[MOST_ROWS];
    struct amp_config now = *c, before = defaults();
    struct settings k = settings(rows, &now);
    settings_print(&k, &before, always, sizeof always / sizeof *always);
}
