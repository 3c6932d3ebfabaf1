/* What is known of tensors whose methods are watched (hook_watch.c). */
#ifndef GPUPROF_AGENT_PYTHON_HOOK_TENSOR_H
#define GPUPROF_AGENT_PYTHON_HOOK_TENSOR_H

#include "agent/python/hook_watch.h"

/* The tensor is of a class told by gpuprof_hook_plain: others may run the program's code when
 * looked at. */
bool hook_tensor_plain(void *tensor);

/* "sync .item() train.py:42", or "read ..." when the tensor is not on a GPU. Empty: PyTorch's own
 * read of a tensor that is not. */
void hook_tensor_read(void *tensor, const char *method, const char *skip, char *out, size_t size);

/* A method that may copy its tensor elsewhere, called inside of `inner`. `out`: what it was, "sync
 * .to() ..." when it made the host wait for the GPU, "copy .to() ..." when the host stood still for
 * a copy to the GPU, empty when neither. New result or NULL, as the method. */
struct hook_copy {
    const char *method, *skip;
    bool to_gpu; /* out: a copy from the host's memory to the GPU, blocking or not, and no weight's
                  */
};
void *hook_tensor_copy(struct hook_copy *c, struct watch *inner, struct act *a, char *out,
                       size_t size);

#endif
