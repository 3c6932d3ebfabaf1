/* Classes of kernels by their names, as the libraries write them. */
#include "tests/unit/test.h"
#include "analyzer/timeline/build.h"
#include "analyzer/timeline/classify.h"
#include "wire/spool_format.h"

static const struct {
    const char *name;
    uint8_t family, tensor, dtype, layout, pass;
} cases[] = {
    /* matrix kernels without tensor cores, whatever the rest of the name says */
    {"volta_sgemm_128x64_nn", FAMILY_GEMM, TRI_NO, SPOOL_DT_F32, 0, 0},
    {"ampere_sgemm_32x32_sliced1x4_tn", FAMILY_GEMM, TRI_NO, SPOOL_DT_F32, 0, 0},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_"
     "alignc4_"
     "execute_kernel__51_cublas",
     FAMILY_GEMM, TRI_NO, SPOOL_DT_F32, 0, 0},
    {"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize128x64x8_stage3_ffma",
     FAMILY_CONV, TRI_NO, SPOOL_DT_F32, SPOOL_LAYOUT_NCHW, PASS_FWD},
    {"cutlass_80_simt_sgemm_128x64_8x5_nn_align1", FAMILY_GEMM, TRI_NO, SPOOL_DT_F32, 0, 0},
    {"_ZN19cutlass_cudnn_train6KernelINS_4gemm6threadMmaSimtILi1EfEEvNT_6ParamsE", FAMILY_GEMM,
     TRI_NO, 0, 0, 0},
    {"void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int)", FAMILY_CONV,
     TRI_NO, SPOOL_DT_F32, 0, PASS_DGRAD},
    {"void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)", FAMILY_CONV,
     TRI_NO, SPOOL_DT_F32, 0, PASS_WGRAD},
    {"volta_scudnn_128x64_relu_interior_nn_v1", FAMILY_CONV, TRI_NO, SPOOL_DT_F32, 0, PASS_FWD},
    {"volta_scudnn_128x64_stridedB_interior_nn_v1", FAMILY_CONV, TRI_NO, SPOOL_DT_F32, 0,
     PASS_DGRAD},
    {"volta_scudnn_128x128_stridedB_splitK_small_nn_v1", FAMILY_CONV, TRI_NO, SPOOL_DT_F32, 0,
     PASS_WGRAD},
    {"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)", FAMILY_CONV,
     TRI_NO, SPOOL_DT_F32, 0, PASS_FWD},
    {"void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int)",
     FAMILY_CONV, TRI_NO, SPOOL_DT_F32, 0, PASS_FWD},
    {"void convolve_common_engine_float_NHWC<__half, __half, 128, 6, 7, 3, 3, 5, true>(int)",
     FAMILY_CONV, TRI_NO, SPOOL_DT_F16, SPOOL_LAYOUT_NHWC, PASS_FWD},
    {"void cudnn::detail::dgrad_alg1_engine<__half, 128, 6, 8, 3, 3, 5, false, true>(int)",
     FAMILY_CONV, TRI_NO, SPOOL_DT_F16, 0, PASS_DGRAD},
    {"void gemmSN_NN_kernel<float, 128, 2, 4, 8, 4, 4, false>(int)", FAMILY_GEMM, TRI_NO,
     SPOOL_DT_F32, 0, 0},
    /* tensor cores */
    {"nvjet_hsh_192x192_64x3_2x1_v_bz_coopB_NTN", FAMILY_GEMM, TRI_YES, SPOOL_DT_F16, 0, 0},
    {"nvjet_sm90_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", FAMILY_GEMM, TRI_YES, SPOOL_DT_BF16, 0,
     0},
    {"nvjet_sm90_sss_128x64_64x3_1x2_h_TNN", FAMILY_GEMM, TRI_YES, SPOOL_DT_TF32, 0, 0},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
     "segment_k_"
     "off_kernel__5x_cublas",
     FAMILY_GEMM, TRI_YES, SPOOL_DT_BF16, 0, 0},
    {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_"
     "warpsize2x2x1_g1_"
     "tensor16x8x8_execute_kernel__5x_cudnn",
     FAMILY_CONV, TRI_YES, SPOOL_DT_TF32, SPOOL_LAYOUT_NHWC, PASS_FWD},
    {"void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>(int)",
     FAMILY_GEMM, TRI_YES, SPOOL_DT_BF16, 0, 0},
    {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x4_nn_align1>(int)", FAMILY_GEMM,
     TRI_YES, SPOOL_DT_TF32, 0, 0},
    {"void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_128x64_32x3_nhwc_"
     "align4>(int)",
     FAMILY_CONV, TRI_YES, SPOOL_DT_TF32, SPOOL_LAYOUT_NHWC, PASS_DGRAD},
    {"_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_"
     "11MmaTensorOp10half_t"
     "E11Conv2dWgradEEEvNT_6ParamsE",
     FAMILY_CONV, TRI_YES, SPOOL_DT_F16, 0, PASS_WGRAD},
    {"volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1", FAMILY_CONV, TRI_YES,
     SPOOL_DT_F16, SPOOL_LAYOUT_NHWC, PASS_FWD},
    {"ampere_fp16_s1688gemm_fp16_128x128_ldg8_relu_f2f_stages_32x1_tn", FAMILY_GEMM, TRI_YES,
     SPOOL_DT_F16, 0, 0},
    {"turing_h1688gemm_128x128_ldg8_nn", FAMILY_GEMM, TRI_YES, SPOOL_DT_F16, 0, 0},
    {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >(int)",
     FAMILY_ATTENTION, TRI_YES, SPOOL_DT_BF16, 0, 0},
    {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN", FAMILY_GEMM, TRI_YES,
     SPOOL_DT_BF16, 0, 0},
    {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::collective::"
     "CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<4>, cutlass::half_t> > "
     ">(int)",
     FAMILY_GEMM, TRI_YES, SPOOL_DT_F16, 0, 0},
    {"gemm_device<cute::MMA_Atom<cute::SM80_16x8x16_F16F16F16F16_TN>, cutlass::half_t>",
     FAMILY_GEMM, TRI_YES, SPOOL_DT_F16, 0, 0},
    {"gemm_device<cute::MMA_Atom<cute::UniversalFMA<float, float> >, "
     "cute::SM80_CP_ASYNC_CACHEALWAYS"
     "<float> >",
     FAMILY_GEMM, TRI_NO, SPOOL_DT_F32, 0, 0},
    /* attention: in FP32 nobody knows which units compute */
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, "
     "cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)",
     FAMILY_ATTENTION, TRI_UNKNOWN, SPOOL_DT_F32, 0, 0},
    {"fmha_cutlassB_f32_notaligned_64x64_k64_sm75(PyTorchMemEffAttention::"
     "AttentionBackwardKernel<cutlass::arch::Sm75, float, false, false, false, 64, 64, "
     "64>::Params)",
     FAMILY_ATTENTION, TRI_UNKNOWN, SPOOL_DT_F32, 0, 0},
    {"fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::"
     "half_t, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)",
     FAMILY_ATTENTION, TRI_YES, SPOOL_DT_F16, 0, 0},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_128x128x64_4x1x1",
     FAMILY_ATTENTION, TRI_YES, SPOOL_DT_F16, 0, 0},
    {"triton_tem_fused_flex_attention_2", FAMILY_ATTENTION, TRI_UNKNOWN, 0, 0, 0},
    /* unknown stays unknown */
    {"triton_tem_fused_mm_7", FAMILY_GEMM, TRI_UNKNOWN, 0, 0, 0},
    {"my_gemm", FAMILY_GEMM, TRI_UNKNOWN, 0, 0, 0},
    {"something_else", FAMILY_UNKNOWN, TRI_NO, 0, 0, 0},
    /* communication */
    {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", FAMILY_COMM, TRI_NO, SPOOL_DT_F32, 0,
     0},
    {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", FAMILY_COMM,
     TRI_NO, SPOOL_DT_BF16, 0, 0},
    {"void deep_ep::intranode::dispatch<8, 1024>(int4*, float*)", FAMILY_COMM, TRI_NO, SPOOL_DT_F32,
     0, 0},
    {"void hybrid_ep::dispatch_kernel<uint16_t, 8, 1024>(hybrid_ep::dispatch_kernel_param_t)",
     FAMILY_COMM, TRI_NO, 0, 0, 0},
    {"hybrid_ep::device_sync_kernel(unsigned int*, unsigned int const*)", FAMILY_COMM, TRI_NO, 0, 0,
     0},
    {"void dpsk::ep::internode_ll::combine<7168, 8, 9>(void*, int4 const*)", FAMILY_COMM, TRI_NO, 0,
     0, 0},
    {"_ZN4dpsk2ep9intranode8dispatchILi8EEEvP4int4", FAMILY_COMM, TRI_NO, 0, 0, 0},
    {"void pplx::a2a_combine_recv_kernel<8>(int)", FAMILY_COMM, TRI_NO, 0, 0, 0},
    {"nvshmemi_transfer_rma_kernel", FAMILY_COMM, TRI_NO, 0, 0, 0},
    {"void mscclpp::allgather_kernel(int)", FAMILY_COMM, TRI_NO, 0, 0, 0},
    {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(vllm::RankData*)", FAMILY_COMM,
     TRI_NO, SPOOL_DT_BF16, 0, 0},
    {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<8>(int)",
     FAMILY_COMM, TRI_NO, 0, 0, 0},
    {"void tensorrt_llm::kernels::ar_fusion::moereduce_lamport<4>(int)", FAMILY_COMM, TRI_NO, 0, 0,
     0},
    {"void tensorrt_llm::kernels::moeAllToAllKernel<true>(int)", FAMILY_COMM, TRI_NO, 0, 0, 0},
    {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", FAMILY_COMM, TRI_NO, 0, 0, 0},
    {"kernel_consumer_gemm_all_gather", FAMILY_GEMM, TRI_UNKNOWN, 0, 0, 0},
    {"multimem_all_reduce_kernel_bf16", FAMILY_COMM, TRI_NO, SPOOL_DT_BF16, 0, 0},
    {"mscclKernel_Sum_half_Simple", FAMILY_COMM, TRI_NO, SPOOL_DT_F16, 0, 0},
    {"ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32", FAMILY_COMM, TRI_NO, SPOOL_DT_F32, 0, 0},
    /* layout, types, fills */
    {"void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>(int)", FAMILY_LAYOUT,
     TRI_NO, SPOOL_DT_F16, 0, 0},
    {"void foldedNhwcToNhwcKernel<float, float, float, true>(int)", FAMILY_LAYOUT, TRI_NO,
     SPOOL_DT_F32, SPOOL_LAYOUT_UNKNOWN, 0},
    {"batched_transpose_16x32_dword", FAMILY_LAYOUT, TRI_NO, 0, 0, 0},
    {"void cudnn::ops::convertTensor_kernel<float, float, float, (cudnnKernelDataType_t)2>(float)",
     FAMILY_UNKNOWN, TRI_NO, SPOOL_DT_F32, 0, 0},
    {"void cudnn::ops::convertTensor_kernel<float, __half, float, (cudnnKernelDataType_t)0>(float)",
     FAMILY_CAST, TRI_NO, SPOOL_DT_F16, 0, 0},
    {"void "
     "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
     "TensorIteratorBase&)"
     "::{lambda()#3}>(int)",
     FAMILY_CAST, TRI_NO, 0, 0, 0},
    {"void at::native::vectorized_elementwise_kernel<8, at::native::converting_copy_kernel_cuda<"
     "float, c10::BFloat16>(at::TensorIteratorBase&)::{lambda(float)#1}, "
     "std::array<char*, 2ul>, false>(int)",
     FAMILY_CAST, TRI_NO, SPOOL_DT_BF16, 0, 0},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
     FAMILY_FILL, TRI_NO, SPOOL_DT_F32, 0, 0},
    {"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
     "direct_copy_kernel_cuda>>(int)",
     FAMILY_COPY, TRI_NO, 0, 0, 0},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::UnaryOpFunctor<float, "
     "2, "
     "1, 1>, at::native::Copy<float, float>>(int)",
     FAMILY_COPY, TRI_NO, SPOOL_DT_F32, 0, 0},
    {"memcpy32_post", FAMILY_COPY, TRI_NO, 0, 0, 0},
    {"__amd_rocclr_copyBuffer", FAMILY_COPY, TRI_NO, 0, 0, 0},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
     "namespace)::masked_fill_kernel(at::TensorIterator&)::{lambda(float, bool)#1}>",
     FAMILY_ELEMENTWISE, TRI_NO, SPOOL_DT_F32, 0, 0}, /* it keeps values, a fill does not */
    {"__amd_rocclr_fillBufferAligned", FAMILY_FILL, TRI_NO, 0, 0, 0},
    /* the rest of a training step */
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4>, "
     "FusedAdamMathFunctor<float, 4>>(int)",
     FAMILY_OPTIMIZER, TRI_NO, SPOOL_DT_F32, 0, 0},
    {"_Z19sgd_momentum_kernelPfS_S_ff", FAMILY_OPTIMIZER, TRI_NO, 0, 0, 0},
    {"_Z14update_weightsPfS_f", FAMILY_OPTIMIZER, TRI_NO, 0, 0, 0},
    {"_ZN5dense10UpdateBiasEPfPKff", FAMILY_OPTIMIZER, TRI_NO, 0, 0, 0},
    {"_Z16updateParametersPfS_f", FAMILY_OPTIMIZER, TRI_NO, 0, 0, 0},
    {"_Z20gradientDescentStepPfS_f", FAMILY_OPTIMIZER, TRI_NO, 0, 0, 0},
    {"_Z14update_particlePfS_f", FAMILY_UNKNOWN, TRI_NO, 0, 0, 0},
    {"void at::native::vectorized_elementwise_kernel<4, "
     "at::native::clamp(at::Iter&)::{lambda()#1}>(int)",
     FAMILY_ELEMENTWISE, TRI_NO, 0, 0, 0}, /* "lambda" is no LAMB */
    {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(int)", FAMILY_NORM, TRI_NO,
     SPOOL_DT_F32, SPOOL_LAYOUT_NCHW, 0},
    {"void cudnn::batchnorm_bwtr_nhwc_semiPersist<__half>(int)", FAMILY_NORM, TRI_NO, SPOOL_DT_F16,
     SPOOL_LAYOUT_NHWC, 0},
    {"void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>(int)",
     FAMILY_POOL, TRI_NO, SPOOL_DT_F32, SPOOL_LAYOUT_NCHW, 0},
    {"void (anonymous namespace)::softmax_warp_forward<c10::Half, float, float, 7, false, "
     "false>(int)",
     FAMILY_SOFTMAX, TRI_NO, SPOOL_DT_F16, 0, 0},
    {"triton_poi_fused_convolution_relu_3", FAMILY_ELEMENTWISE, TRI_NO, 0, 0, 0},
    {"triton_red_fused_mean_1", FAMILY_REDUCE, TRI_NO, 0, 0, 0},
    {"split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<float>(int)",
     FAMILY_EMBEDDING, TRI_NO, SPOOL_DT_F32, 0, 0},
    {"void calc_bias_diff<2, float, float, 128, 0>(int)", FAMILY_BIAS, TRI_NO, SPOOL_DT_F32, 0, 0},
};

TEST_EACH(names_tell, 0, (int)(sizeof cases / sizeof *cases))
{
    struct kernel_class c = classify_kernel(cases[_i].name);
    ck_assert_msg(c.family == cases[_i].family, "%s: family %s", cases[_i].name,
                  family_text(c.family));
    ck_assert_msg(c.tensor == cases[_i].tensor, "%s: tensor %d", cases[_i].name, c.tensor);
    ck_assert_msg(c.dtype == cases[_i].dtype, "%s: dtype %d", cases[_i].name, c.dtype);
    ck_assert_msg(c.layout == cases[_i].layout, "%s: layout %d", cases[_i].name, c.layout);
    ck_assert_msg(c.pass == cases[_i].pass, "%s: pass %d", cases[_i].name, c.pass);
}

TEST(alignment_is_read)
{
    ck_assert_uint_eq(classify_kernel("cutlass_80_tensorop_s1688gemm_64x64_32x4_nn_align1").align,
                      1);
    ck_assert_uint_eq(classify_kernel("cutlass_80_tensorop_s1688gemm_64x64_32x4_nn_align4").align,
                      4);
    ck_assert_uint_eq(classify_kernel("volta_sgemm_128x64_nn").align, 0);
}

TEST(a_name_that_is_cut_off_is_not_read_on)
{
    static const char cut[] = "nvjet_sm90\0hsh_192x192";
    ck_assert_uint_eq(classify_kernel(cut).dtype, SPOOL_DT_UNKNOWN);
}

TEST(a_call_refines_but_does_not_overrule)
{
    struct kernel_class c = classify_kernel("ampere_sgemm_128x64_tn");
    struct row_call call = {
        .family = SPOOL_CALL_CONV_FWD, .in_type = SPOOL_DT_F16, .in_layout = SPOOL_LAYOUT_NCHW};
    classify_refine(&c, &call);
    ck_assert_uint_eq(c.family, FAMILY_CONV);
    ck_assert_uint_eq(c.pass, PASS_FWD);
    ck_assert_uint_eq(c.dtype, SPOOL_DT_F32); /* the name said so */
    ck_assert_uint_eq(c.tensor, TRI_NO);
    ck_assert_uint_eq(c.layout, SPOOL_LAYOUT_NCHW);
    c = classify_kernel("void cudnn::ops::nchwToNhwcKernel<float>(int)");
    classify_refine(&c, &call);
    ck_assert_uint_eq(c.family, FAMILY_LAYOUT); /* a conversion inside a convolution stays one */
}

TEST(compilers_and_norms_of_rows_are_known_by_name)
{
    ck_assert(classify_kernel("triton_poi_fused_add_gelu_0").fused);
    ck_assert(classify_kernel("loop_add_fusion_3").fused);
    ck_assert(!classify_kernel("void at::native::vectorized_elementwise_kernel<4>").fused);
    ck_assert(classify_kernel("vectorized_layer_norm_kernel<float, float>").by_row);
    ck_assert(classify_kernel("RowwiseMomentsCUDAKernel<float>").by_row);
    ck_assert(!classify_kernel("batch_norm_collect_statistics_channels_last_kernel").by_row);
}

TEST(copies_that_return_when_done_are_told_from_queued_ones)
{
    ck_assert_uint_eq(api_kind_of("cudaMemcpy"), API_COPY_SYNC);
    ck_assert_uint_eq(api_kind_of("cuMemcpyDtoH_v2"), API_COPY_SYNC);
    ck_assert_uint_eq(api_kind_of("hipMemcpyWithStream"), API_COPY_SYNC);
    ck_assert_uint_eq(api_kind_of("hipMemcpyAsync"), API_COPY_ASYNC);
    ck_assert_uint_eq(api_kind_of("cuMemcpyHtoDAsync_v2"), API_COPY_ASYNC);
}
