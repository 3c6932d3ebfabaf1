/* What the wrappers of tensor methods know of tensors (hook_call.c). */
#ifndef GPUPROF_HOOK_TENSOR_H
#define GPUPROF_HOOK_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

/* args[0] is of a class told by gpuprof_hook_plain: others may run the program's code when looked
 * at. */
bool hook_tensor_plain(void *args);

/* "sync .item() train.py:42", or "read ..." when the tensor is not on a GPU. Empty: PyTorch's own
 * read of a tensor that is not. */
void hook_tensor_read(void *args, const char *method, const char *skip, char *out, size_t size);

/* A method that may copy its tensor elsewhere, called. `out`: what it was, "sync .to() ..." when it
 * made the host wait for the GPU, "copy .to() ..." when the host stood still for a copy to the GPU,
 * empty when neither. New result or NULL, as the method. */
struct hook_copy {
    const char *method, *skip;
    bool to_gpu; /* out: a copy from the host's memory to the GPU, blocking or not */
};
void *hook_tensor_copy(struct hook_copy *c, void *callable, void *args, void *kwargs, char *out,
                       size_t size);

#endif
