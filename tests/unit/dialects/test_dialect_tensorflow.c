/* The dialects of TensorFlow and JAX. */
#include "tests/unit/test.h"
#include "tests/unit/dialects/say_case.h"

TEST(words)
{
    static const struct said said[] = {
        {{.action = ACTION_SET_WORKERS, .params[PARAM_WORKERS] = NUMBER(4), .now = "of PyTorch"},
         "dataset.map(f, num_parallel_calls=4).prefetch(tf.data.AUTOTUNE)"},
        {{.action = ACTION_MIX_PRECISION,
          .params[PARAM_DTYPE] = TEXT("bf16"),
          .conditions[CONDITION_TO_CHANNELS_LAST] = true},
         "keras.mixed_precision.set_global_policy('mixed_bfloat16'); in JAX, parameters and "
         "batches as jnp.bfloat16; data_format='channels_last' (the default) in every layer"},
        {{.action = ACTION_SCALE_ON_GPU, .conditions[CONDITION_NO_BF16] = true},
         "keep the LossScaleOptimizer's update inside tf.function: it decides on the device there"},
        {{.action = ACTION_LAUNCH_FEWER, .conditions[CONDITION_REPEATS] = true},
         "@tf.function(jit_compile=True), in JAX jax.jit, around what repeats"},
        {{.action = ACTION_EXCHANGE_EARLIER}, NULL},
    };
    says(&dialect_tensorflow, said, sizeof said / sizeof *said);
}
