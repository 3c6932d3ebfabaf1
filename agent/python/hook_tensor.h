/* What is known of tensors whose methods are watched (hook_watch.c). */
#ifndef GPUPROF_AGENT_PYTHON_HOOK_TENSOR_H
#define GPUPROF_AGENT_PYTHON_HOOK_TENSOR_H

#include "agent/python/hook_watch.h"

/* True if the tensor is of a class told by gpuprof_hook_plain. Reading attributes of other classes
 * might run code of the program. */
bool hook_tensor_plain(void *tensor);

/* Writes "sync .item() train.py:42" into `out`, or "read ..." if the tensor is not on a GPU. Empty:
 * PyTorch itself reads a tensor that is not on a GPU. */
void hook_tensor_read(void *tensor, const char *method, const char *skip, char *out, size_t size);

/* Calls a method that may copy its tensor elsewhere, within the watch `inner`. Writes what happened
 * into `out`: "sync .to() ..." if the host waited for the GPU, "copy .to() ..." if the host waited
 * for a copy to the GPU, empty if neither. Returns the method's result: a new reference or NULL. */
struct hook_copy {
    const char *method, *skip;
    /* out: it was a copy from the host's memory to the GPU, blocking or not, and of no weight. */
    bool to_gpu;
};
void *hook_tensor_copy(struct hook_copy *c, struct watch *inner, struct act *a, char *out,
                       size_t size);

#endif
