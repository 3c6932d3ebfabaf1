/* Modules and their kernels, as Triton, programs that use NVRTC and the runtime's library calls
 * load them. */
#include "code/image.h"
#include "shims/cuda/shim_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULE_MAGIC = 0x76676d6f };

struct module {
    uint32_t magic;
    void *image; /* own copy: the caller may free its image before it asks for a kernel */
    struct variable {
        char *name;
        void *device;
        size_t size;
        bool managed;
        struct variable *next;
    } * variables;
};

static struct module *module_of(const void *handle)
{
    struct module *m = (struct module *)(uintptr_t)handle;
    return m && m->magic == MODULE_MAGIC ? m : NULL;
}

static int load(void **out, const void *image)
{
    if (!out || !image)
        return CUDA_ERROR_INVALID_VALUE;
    void *copy = vg_image_copy(image);
    if (!copy)
        return CUDA_ERROR_INVALID_IMAGE;
    struct module *m = calloc(1, sizeof *m);
    if (!m) {
        free(copy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *m = (struct module){.magic = MODULE_MAGIC, .image = copy};
    *out = m;
    return CUDA_SUCCESS;
}

static int unload(struct module *m)
{
    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    while (m->variables) {
        struct variable *v = m->variables;
        m->variables = v->next;
        vg_free(v->device);
        free(v->name);
        free(v);
    }
    m->magic = 0;
    free(m->image);
    free(m);
    return CUDA_SUCCESS;
}

static int find(struct module *m, const char *name, void **out)
{
    struct vg_function found = {.registers = 32};
    if (!m || !name || !out)
        return m ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    if (!vg_image_kernel(m->image, name, here()->cc_major * 10 + here()->cc_minor, &found))
        return CUDA_ERROR_NOT_FOUND;
    char *kept = strdup(name); /* never freed: records point to it until the process ends */
    struct vg_function *f = kept ? vg_function_new(NULL, kept) : NULL;
    if (!f) {
        free(kept);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    f->registers = found.registers;
    f->smem_static = found.smem_static;
    f->module = m;
    f->image = m->image;
    /* Now, because the module may be unloaded before the first launch would read it. */
    vg_function_look(f);
    *out = f;
    return CUDA_SUCCESS;
}

ROW(cuModuleLoadData, , (CUmodule * out, const void *image),
    (api.host_ns = (int64_t)here()->module_load_ns, load((void **)out, image)))

/* The shim's compiler has no messages: empties the log buffers of a load. */
static void empty_logs(unsigned n, const CUjit_option *options, void **values)
{
    for (unsigned i = 0; options && values && i < n; i++) {
        if ((options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER) &&
            values[i])
            *(char *)values[i] = 0;
        if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
            options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            values[i] = NULL; /* 0 bytes of the buffer are filled */
    }
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, CUjit_option *options,
                            void **values)
{
    empty_logs(n, options, values);
    OPEN(api, cuModuleLoadDataEx);
    api.host_ns = (int64_t)here()->module_load_ns;
    CLOSE(api, load((void **)out, image));
}

ROW(cuModuleLoadFatBinary, , (CUmodule * out, const void *image),
    (api.host_ns = (int64_t)here()->module_load_ns, load((void **)out, image)))

char *image_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *all = NULL;
    long n = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (n >= 0 && fseek(f, 0, SEEK_SET) == 0)
        /* Zeros behind the contents: image parsers may read a header past the end. */
        all = calloc(1, (size_t)n + sizeof(uint64_t) * 8);
    if (all && fread(all, 1, (size_t)n, f) != (size_t)n) {
        free(all);
        all = NULL;
    }
    if (f)
        fclose(f);
    *size = all ? (size_t)n : 0;
    return all;
}

static int load_file(void **out, const char *path)
{
    size_t size = 0;
    char *image = path ? image_file(path, &size) : NULL;
    if (!image)
        return CUDA_ERROR_FILE_NOT_FOUND;
    int bad = load(out, image);
    free(image);
    return bad;
}

ROW(cuModuleLoad, , (CUmodule * out, const char *path),
    (api.host_ns = (int64_t)here()->module_load_ns, load_file((void **)out, path)))
ROW(cuModuleUnload, , (CUmodule m), unload(module_of(m)))
ROW(cuModuleGetFunction, , (CUfunction * out, CUmodule m, const char *name),
    find(module_of(m), name, (void **)out))

/* Bytes for a variable that the image may contain but does not describe. */
static const size_t unknown_room = 65536;

static int variable_new(struct module *m, const char *name, struct variable **out)
{
    struct vg_variable found = {unknown_room, false};
    if (vg_image_variable(m->image, name, &found) == VG_NOT_THERE)
        return CUDA_ERROR_NOT_FOUND;
    struct variable *v = calloc(1, sizeof *v);
    if (!v || !(v->name = strdup(name)) ||
        (found.managed ? vg_malloc_managed(&v->device, found.size)
                       : vg_malloc(vg_current_device(), &v->device, found.size))) {
        if (v)
            free(v->name);
        free(v);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    v->size = found.size;
    v->managed = found.managed;
    v->next = m->variables;
    m->variables = *out = v;
    return CUDA_SUCCESS;
}

static int variable(struct module *m, const char *name, bool managed, CUdeviceptr *out,
                    size_t *bytes)
{
    if (!m || !name)
        return m ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    struct variable *v = m->variables;
    while (v && strcmp(v->name, name) != 0)
        v = v->next;
    int bad = v ? CUDA_SUCCESS : variable_new(m, name, &v);
    if (bad || (managed && !v->managed))
        return bad ? bad : CUDA_ERROR_NOT_FOUND;
    if (out)
        *out = (CUdeviceptr)(uintptr_t)v->device;
    if (bytes)
        *bytes = v->size;
    return CUDA_SUCCESS;
}

ROW(cuModuleGetGlobal, _v2, (CUdeviceptr * out, size_t *bytes, CUmodule m, const char *name),
    variable(module_of(m), name, false, out, bytes))
ROW(cuLibraryGetGlobal, , (CUdeviceptr * out, size_t *bytes, CUlibrary l, const char *name),
    variable(module_of(l), name, false, out, bytes))
ROW(cuLibraryGetManaged, , (CUdeviceptr * out, size_t *bytes, CUlibrary l, const char *name),
    variable(module_of(l), name, true, out, bytes))

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary l)
{
    OPEN(api, cuLibraryGetModule);
    struct module *m = module_of(l);
    if (m && out)
        *out = (CUmodule)(void *)m;
    CLOSE(api, !m ? CUDA_ERROR_INVALID_HANDLE : out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

ROW(cuLibraryLoadData, ,
    (CUlibrary * out, const void *image, CUjit_option *jit UNUSED, void **jit_values UNUSED,
     unsigned jit_n UNUSED, CUlibraryOption *options UNUSED, void **values UNUSED,
     unsigned n UNUSED),
    (api.host_ns = (int64_t)here()->module_load_ns, load((void **)out, image)))
ROW(cuLibraryLoadFromFile, ,
    (CUlibrary * out, const char *path, CUjit_option *jit UNUSED, void **jit_values UNUSED,
     unsigned jit_n UNUSED, CUlibraryOption *options UNUSED, void **values UNUSED,
     unsigned n UNUSED),
    (api.host_ns = (int64_t)here()->module_load_ns, load_file((void **)out, path)))
ROW(cuLibraryUnload, , (CUlibrary l), unload(module_of(l)))
ROW(cuLibraryGetKernel, , (CUkernel * out, CUlibrary l, const char *name),
    find(module_of(l), name, (void **)out))
ROW(cuKernelGetFunction, , (CUfunction * out, CUkernel k),
    (*out = (CUfunction)(void *)vg_function_of(k), *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE))

static int attribute_of(int *value, CUfunction_attribute attribute, const struct vg_function *f)
{
    if (!f || !value)
        return f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    int cc = here()->cc_major * 10 + here()->cc_minor;
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? (int)f->max_threads
             : attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES   ? (int)f->smem_static
             : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? (int)f->registers
             : attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                 ? (int)f->max_dynamic_smem
             : attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION ? (f->ptx_arch ? (int)f->ptx_arch : cc)
             : attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION
                 ? (f->binary_arch ? (int)f->binary_arch : cc)
                 : 0;
    return CUDA_SUCCESS;
}

static int attribute_set(struct vg_function *f, CUfunction_attribute attribute, int value)
{
    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        f->max_dynamic_smem = (unsigned)value;
    return CUDA_SUCCESS;
}

ROW(cuFuncGetAttribute, , (int *value, CUfunction_attribute attribute, CUfunction f),
    attribute_of(value, attribute, vg_function_of(f)))
ROW(cuKernelGetAttribute, ,
    (int *value, CUfunction_attribute attribute, CUkernel k, CUdevice d UNUSED),
    attribute_of(value, attribute, vg_function_of(k)))
ROW(cuFuncSetAttribute, , (CUfunction f, CUfunction_attribute attribute, int value),
    attribute_set(vg_function_of(f), attribute, value))
ROW(cuKernelSetAttribute, ,
    (CUfunction_attribute attribute, int value, CUkernel k, CUdevice d UNUSED),
    attribute_set(vg_function_of(k), attribute, value))
ROW(cuFuncSetCacheConfig, , (CUfunction f, CUfunc_cache config UNUSED),
    vg_function_of(f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE)

CUresult cuFuncGetName(const char **name, CUfunction f)
{
    OPEN(api, cuFuncGetName);
    const struct vg_function *known = vg_function_of(f);
    if (known)
        *name = known->name;
    CLOSE(api, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuFuncGetModule(CUmodule *out, CUfunction f)
{
    OPEN(api, cuFuncGetModule);
    const struct vg_function *known = vg_function_of(f);
    if (known)
        *out = (CUmodule)known->module;
    CLOSE(api, known && known->module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}
