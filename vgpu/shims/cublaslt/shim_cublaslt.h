/* cuBLASLt's shim: what its files share. Descriptors are bags of attributes; the public ones hold a
 * pointer to theirs in their first word. */
#ifndef VGPU_SHIM_CUBLASLT_H
#define VGPU_SHIM_CUBLASLT_H

#include "cost/names.h"

#include <cublasLt.h>

enum { MAX_ATTRIBUTES = 40, MAX_VALUE = 16, ALGORITHMS = 3, WORKSPACE = 4 << 20 };

struct bag {
    struct {
        uint8_t size; /* 0 = not set */
        uint8_t value[MAX_VALUE];
    } attribute[MAX_ATTRIBUTES];
};

struct cublasLtContext {
    int device;
};

cublasStatus_t bag_create(void **out, size_t descriptor_size);
cublasStatus_t bag_destroy(void *descriptor);
cublasStatus_t bag_set(const void *descriptor, int key, const void *value, size_t size);
cublasStatus_t bag_get(const void *descriptor, int key, void *value, size_t size, size_t *written);
/* A number of up to eight bytes, or `unset`. */
int64_t bag_number(const void *descriptor, int key, int64_t unset);
bool bag_there(const void *descriptor);

#endif
