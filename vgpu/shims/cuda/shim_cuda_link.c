/* The driver's linker. Its output is its input: the PTX texts, one after the other, in the form
 * that a module takes. Object files and libraries of device code (relocatable cubins, cudadevrt)
 * become the output only if there is no PTX, because modules find kernels by name and the shim
 * executes no machine code. */
#include "shims/cuda/shim_cuda.h"

#include <stdlib.h>
#include <string.h>

enum { LINK_MAGIC = 0x76676c6b };

struct link {
    uint32_t magic;
    char *text; /* the PTX texts */
    size_t size;
    char *binary; /* the first input that is not PTX */
    size_t binary_size;
};

static struct link *link_of(CUlinkState state)
{
    struct link *l = (struct link *)(void *)state;
    return l && l->magic == LINK_MAGIC ? l : NULL;
}

CUresult cuLinkCreate(unsigned n, CUjit_option *options, void **values, CUlinkState *out)
{
    (void)n, (void)options, (void)values;
    OPEN(api, cuLinkCreate_v2);
    struct link *l = out ? calloc(1, sizeof *l) : NULL;
    if (!l)
        CLOSE(api, out ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE);
    l->magic = LINK_MAGIC;
    *out = (CUlinkState)(void *)l;
    CLOSE(api, CUDA_SUCCESS);
}

/* Appends PTX. `data` need not end with a zero byte. */
static int add_text(struct link *l, const char *data, size_t size)
{
    size = strnlen(data, size);
    char *grown = realloc(l->text, l->size + size + 2);
    if (!grown)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(grown + l->size, data, size);
    l->text = grown;
    l->size += size;
    grown[l->size++] = '\n';
    grown[l->size] = '\0';
    return CUDA_SUCCESS;
}

static int add(struct link *l, CUjitInputType type, const void *data, size_t size)
{
    if (!l || !data || !size)
        return l ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    if (type == CU_JIT_INPUT_PTX)
        return add_text(l, data, size);
    if (l->binary)
        return CUDA_SUCCESS;
    l->binary = malloc(size + 1);
    if (!l->binary)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(l->binary, data, size);
    l->binary[size] = '\0';
    l->binary_size = size;
    return CUDA_SUCCESS;
}

ROW(cuLinkAddData, _v2,
    (CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name UNUSED,
     unsigned n UNUSED, CUjit_option *options UNUSED, void **values UNUSED),
    add(link_of(state), type, data, size))

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned n,
                       CUjit_option *options, void **values)
{
    (void)n, (void)options, (void)values;
    OPEN(api, cuLinkAddFile_v2);
    size_t size = 0;
    char *data = path ? image_file(path, &size) : NULL;
    int bad = data ? add(link_of(state), type, data, size) : (int)CUDA_ERROR_FILE_NOT_FOUND;
    free(data);
    CLOSE(api, bad);
}

CUresult cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
    OPEN(api, cuLinkComplete);
    struct link *l = link_of(state);
    api.host_ns = (int64_t)here()->module_link_ns;
    if (!l || !image)
        CLOSE(api, l ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    if (!l->text && !l->binary)
        CLOSE(api, CUDA_ERROR_INVALID_IMAGE);
    *image = l->text ? l->text : l->binary;
    if (size)
        *size = l->text ? l->size + 1 : l->binary_size;
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuLinkDestroy(CUlinkState state)
{
    OPEN(api, cuLinkDestroy);
    struct link *l = link_of(state);
    if (!l)
        CLOSE(api, CUDA_ERROR_INVALID_HANDLE);
    free(l->text);
    free(l->binary);
    l->magic = 0;
    free(l);
    CLOSE(api, CUDA_SUCCESS);
}
