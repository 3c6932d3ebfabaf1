/* The runtime of CUDA 12 is built from the sources of CUDA 13's. Each file includes this header
 * first: it renames the calls whose arguments have changed to the name of their newer form.
 * shim_cudart12.c defines the older forms. */
#ifndef VGPU_SHIM_CUDART12_NAMES_H
#define VGPU_SHIM_CUDART12_NAMES_H

#ifndef VGPU_TRAPS /* the trap functions need the names as they are exported */
#define cudaGraphAddDependencies                 cudaGraphAddDependencies_v2
#define cudaGraphAddNode                         cudaGraphAddNode_v2
#define cudaGraphGetEdges                        cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies             cudaGraphNodeGetDependencies_v2
#define cudaGraphRemoveDependencies              cudaGraphRemoveDependencies_v2
#define cudaMemAdvise                            cudaMemAdvise_v2
#define cudaMemPrefetchAsync                     cudaMemPrefetchAsync_v2
#define cudaMemPrefetchAsync_ptsz                cudaMemPrefetchAsync_v2_ptsz
#define cudaStreamGetCaptureInfo                 cudaStreamGetCaptureInfo_v3
#define cudaStreamGetCaptureInfo_ptsz            cudaStreamGetCaptureInfo_v3_ptsz
#define cudaStreamUpdateCaptureDependencies      cudaStreamUpdateCaptureDependencies_v2
#define cudaStreamUpdateCaptureDependencies_ptsz cudaStreamUpdateCaptureDependencies_v2_ptsz
/* These fill structs that have grown since: the library exports only the older form. */
#define cudaGetDeviceProperties                  vg_runtime_properties
#define cudaPointerGetAttributes                 vg_runtime_pointer
#define cudaRuntimeGetVersion                    vg_runtime_version
/* These have lost an argument in CUDA 13. */
#define cudaMemcpyBatchAsync                     vg_runtime_copies
#define cudaMemcpyBatchAsync_ptsz                vg_runtime_copies_ptsz
#endif

#endif
