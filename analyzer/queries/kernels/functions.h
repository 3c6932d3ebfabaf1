/* What kernels compute, whatever their form. PyTorch has a kernel for one function in several forms,
 * and takes one by the size and alignment of the tensors: in a loop over elements or rows these
 * differ from turn to turn, and the function does not. Cost: reads each name once. */
#ifndef GPUPROF_QUERIES_KERNELS_FUNCTIONS_H
#define GPUPROF_QUERIES_KERNELS_FUNCTIONS_H

#include "analyzer/queries/query.h"
#include "base/str.h"

struct query_functions {
    const struct timeline *t;
    struct str_table texts;
    uint32_t
        *of; /* by id of a kernel's full name: id in texts, 0 = not read yet; NULL: no memory */
};

struct query_functions query_functions(const struct facts *f, struct arena *arena);
/* The same number for kernels that apply the same function; other kernels are what their whole name
 * says. 0 for copies and memsets, and without memory. */
uint32_t query_function_of(struct query_functions *k, const struct op *o);
void query_functions_release(struct query_functions *k);

#endif
