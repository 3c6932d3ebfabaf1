/* The runtime of CUDA 12 is that of CUDA 13 built again: what changed its arguments has the newer
 * form's name there, and shim_cudart12.c defines the older form. Included in front of each file. */
#ifndef VGPU_SHIM_CUDART12_NAMES_H
#define VGPU_SHIM_CUDART12_NAMES_H

#ifndef VGPU_TRAPS /* those have the names as they are exported */
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
/* These fill structures that have grown: only the older form is exported. */
#define cudaGetDeviceProperties                  vg_runtime_properties
#define cudaPointerGetAttributes                 vg_runtime_pointer
#define cudaRuntimeGetVersion                    vg_runtime_version
/* These have lost an argument. */
#define cudaMemcpyBatchAsync                     vg_runtime_copies
#define cudaMemcpyBatchAsync_ptsz                vg_runtime_copies_ptsz
#endif

#endif
