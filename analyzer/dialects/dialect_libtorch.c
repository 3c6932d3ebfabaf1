/* Words for C++ programs that call PyTorch's library. */
#include "analyzer/dialects/dialect.h"
#include "analyzer/queries/query.h"

const struct dialect dialect_libtorch = {
    .id = "libtorch",
    .name = "C++ with libtorch",
    .base = &dialect_cuda,
    .spoken = query_of_libtorch,
    .words =
        {
            [ACTION_LOAD_IN_WORKERS] = "torch::data::DataLoaderOptions().workers(N); each thread "
                                       "has a copy of the dataset",
            [ACTION_ENLARGE_BATCH] =
                "torch::data::DataLoaderOptions().batch_size(N){!only_infers:, "
                "with the learning rate scaled and warmed up}",
            [ACTION_LAUNCH_AS_GRAPH] =
                "at::cuda::CUDAGraph: on a stream of getStreamFromPool, some steps as usual, then "
                "capture_begin() and capture_end() around one with inputs that stay in place, then "
                "copy_() into these inputs and replay()",
            [ACTION_WAIT_LESS] = "total += loss.detach() on the GPU, and total.item<float>() every "
                                 "hundred steps; no tensor in an if or a print of the loop",
            [ACTION_OVERLAP_COPIES] =
                "the next batch: .to(device, /*non_blocking=*/true) from pinned memory under a "
                "c10::cuda::CUDAStreamGuard of getStreamFromPool(), and an at::cuda::CUDAEvent "
                "that the step waits for",
            [ACTION_PIN_BATCHES] = "batch.data.pin_memory().to(device, /*non_blocking=*/true)",
            [ACTION_USE_CHANNELS_LAST] = "x = x.contiguous(torch::MemoryFormat::ChannelsLast), and "
                                         "p.set_data(p.contiguous(torch::MemoryFormat::"
                                         "ChannelsLast)) for each parameter of four dimensions",
            [ACTION_MEASURE_ALGORITHMS] = "at::globalContext().setBenchmarkCuDNN(true)",
            [ACTION_FUSE_ATTENTION] =
                "torch::scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)",
            [ACTION_FUSE_POINTWISE] =
                "one operator in place of several (torch::gelu, torch::layer_norm, "
                "torch::scaled_dot_product_attention), or a kernel of your own for the chain; "
                "libtorch has no compiler",
            [ACTION_USE_TENSOR_CORES] =
                "at::autocast::set_autocast_enabled(at::kCUDA, true) and "
                "set_autocast_dtype(at::kCUDA, at::kBFloat16) around forward and loss, "
                "clear_cache() behind them; or at::globalContext().setAllowTF32CuBLAS(true) and "
                "setAllowTF32CuDNN(true) for TF32",
            [ACTION_EVALUATE_WITHOUT_GRADIENTS] =
                "model->eval() and c10::InferenceMode guard; around validation",
            [ACTION_FUSE_OPTIMIZER] =
                "at::_fused_adamw_ on the lists of parameters, gradients and moments; "
                "torch::optim's own launch kernels for each parameter",
            [ACTION_OVERWRITE_GRADIENTS] =
                "optimizer.zero_grad(/*set_to_none=*/true), which is the default",
        },
};
