/* train_conv: trains a ResNet on generated pictures, in plain C over cuDNN and cuBLAS.
 *
 * It is there to be profiled: every habit that makes a training loop slow is a setting here, the
 * defaults are the tuned ones, and `--defect NAME` turns one bad habit on. What a step does stands
 * in trainer.h. It ends with `pace_step_ms=...` (see clock.h) and
 * `median_step_ms=...`.
 */
#include "reference_workloads/common/blocks.h"
#include "reference_workloads/common/clock.h"
#include "reference_workloads/common/nvtx.h"
#include "reference_workloads/conv/trainer.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static struct trainer t;
    setvbuf(stdout, NULL, _IOLBF, 0);
    config_read(&t.config, argc, argv);
    nvtx_enable(!t.config.no_nvtx);
    trainer_open(&t, 0);
    int64_t *step_ns = check_alloc((size_t)t.config.steps * sizeof *step_ns);
    trainer_run(&t, step_ns);
    trainer_close(&t);
    int warmup = t.config.warmup < t.config.steps ? t.config.warmup : 0;
    printf("pace_step_ms=%.3f\n",
           (double)pace_ns(step_ns + warmup, (size_t)(t.config.steps - warmup)) / 1e6);
    blocks_print(t.config.profile_every, step_ns, t.config.steps, warmup);
    printf("median_step_ms=%.3f\n", trainer_median_ms(&t, step_ns));
    free(step_ns);
    return 0;
}
