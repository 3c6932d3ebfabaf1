/* What the cuBLASLt shim's files share. A descriptor is a bag of attributes; the first word of the
 * public descriptor struct points to its bag. */
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
/* The value of an attribute as a number; `unset` if it was not set. */
int64_t bag_number(const void *descriptor, int key, int64_t unset);
bool bag_there(const void *descriptor);

#endif
