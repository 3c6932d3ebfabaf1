/* Looks at each object before the object's own code runs. For objects that the program starts
 * with, it runs in a constructor that precedes all others (-z initfirst). For objects that are
 * opened later, it runs when the loader notifies debuggers: after the object is mapped and
 * before its constructors. */
#include "reach/reach.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNDER(path, folder)                                                                        \
    (strncmp(path, folder, strlen(folder)) == 0 && (path)[strlen(folder)] == '/')

/* The libraries that the shims replace. An object contains one of them if it defines `marker`
 * and its name begins with `stem`. For libraries that exist as an archive, an object with GPU
 * code is enough; the GPU code is required because a program may define a cuInit of its own. Of
 * several rows with one prefix the first match counts: CUDA 11's runtime still has texture
 * references, and CUDA 12's has a call more than CUDA 13's. Where the shim has a call in that
 * library's older form, the shim's name ends with `form`. */
static const struct library {
    const char *stem, *marker, *prefix, *shim, *form;
    bool archive;
} libraries[] = {
    {"libcudart.so", "cudaBindTexture", "cuda", "libcudart.so.12", "_of_11", true},
    {"libcudart.so", "cudaGetDeviceProperties_v2", "cuda", "libcudart.so.12", NULL, true},
    {"libcudart.so", "__cudaRegisterFatBinary", "cuda", "libcudart.so.13", NULL, true},
    {"libcublas.so", "cublasCreate_v2", "cublas", "libcublas.so.13", NULL, true},
    {"libcublasLt.so", "cublasLtCreate", "cublasLt", "libcublasLt.so.13", NULL, true},
    {"libcudnn.so", "cudnnCreate", "cudnn", "libcudnn.so.9", NULL, true},
    {"libnccl.so", "ncclGetUniqueId", "nccl", "libnccl.so.2", NULL, true},
    {"libcufft.so", "cufftPlan1d", "cufft", "libcufft.so.12", NULL, true},
    {"libcurand.so", "curandCreateGenerator", "curand", "libcurand.so.10", NULL, true},
    {"libcusparse.so", "cusparseCreate", "cusparse", "libcusparse.so.12", NULL, true},
    {"libcusolver.so", "cusolverDnCreate", "cusolver", "libcusolver.so.12", NULL, true},
    {"libcupti.so", "cuptiActivityEnable", "cupti", "libcupti.so.13", NULL, false},
    {"libcuda.so", "cuInit", "cu", "libcuda.so.1", NULL, false},
};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static char own_folder[4096]; /* the folder of the shims */
static char program[4096];
static void *shims[LIBRARIES];
static bool opens; /* the program, or a library that it started with, may call dlopen */
static bool ready; /* changed() may look at new objects */

static void *shim(size_t i)
{
    char path[sizeof own_folder + 64];
    snprintf(path, sizeof path, "%s/%s", own_folder, libraries[i].shim);
    if (!shims[i])
        shims[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return shims[i];
}

struct replacing {
    const struct library *what;
    void *shim;
    uintptr_t base;
    bool failed;
};

/* The shim's function for `name`: in the library's older form if the shim has one, otherwise under
 * its own name. */
static const void *function(const struct replacing *r, const char *name)
{
    char form[256];
    const void *found = NULL;
    if (r->what->form &&
        snprintf(form, sizeof form, "%s%s", name, r->what->form) < (int)sizeof form)
        found = dlsym(r->shim, form);
    return found ? found : dlsym(r->shim, name);
}

static void replace(void *arg, const char *name, uint64_t at)
{
    struct replacing *r = arg;
    const char *plain = name + strspn(name, "_");
    if (strncmp(plain, r->what->prefix, strlen(r->what->prefix)) != 0)
        return;
    const void *to = function(r, name);
    if (to && jump_write((void *)(r->base + at), to) != 0)
        r->failed = true;
}

/* True if the object's file name is that of NVIDIA's library. */
static bool is_own(const struct library *l, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strncmp(name, l->stem, strlen(l->stem)) == 0;
}

/* True if the object is the library itself or has NVIDIA's archive of it linked in. An object
 * without GPU code may contain the runtime's archive, too (CuPy's bindings): it then has the
 * runtime's call for NVIDIA's own libraries, cudaGetExportTable. */
static bool holds(const struct image *m, const struct library *l, const char *path,
                  bool device_code)
{
    bool may = is_own(l, path) || (l->archive && device_code) ||
               (strcmp(l->prefix, "cuda") == 0 && image_has_symbol(m, "cudaGetExportTable", true));
    return may && image_has_symbol(m, l->marker, true);
}

/* True for libraries of NVIDIA that have the runtime linked in, by file name or by the folder of
 * NVIDIA's Python wheels. Users cannot link them differently, and frameworks load all of them, so
 * no note is left here: the driver's shim names such a library when it is used. */
static bool is_vendors(const char *path)
{
    static const char *const names[] = {"/libnpp",      "/libnvjpeg.", "/libcudss.",
                                        "/libcutensor", "/libcudnn_",  "/libcusparseLt.",
                                        "/libnvshmem"};
    const char *file = strrchr(path, '/');
    if (strstr(path, "-packages/nvidia/"))
        return true;
    for (size_t i = 0; file && i < sizeof names / sizeof *names; i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void look_at(const char *path, uintptr_t base)
{
    struct image m;
    if (!*path || UNDER(path, own_folder) || image_open(&m, path) != 0)
        return;
    opens |= !strstr(path, "/libgpuprof_agent.so") && image_has_symbol(&m, "dlopen", false) &&
             !image_has_symbol(&m, "dlopen", true);
    const char *held = NULL; /* prefix of the library that was found last */
    /* NVIDIA's own file was replaced as a whole, so nothing calls a runtime inside it. */
    bool replaced = false;
    bool device_code =
        image_has_section(&m, ".nv_fatbin") || image_has_section(&m, ".nvFatBinSegment");
    for (size_t i = 0; i < LIBRARIES; i++) {
        const struct library *l = &libraries[i];
        if ((held && strcmp(held, l->prefix) == 0) || !holds(&m, l, path, device_code))
            continue;
        held = l->prefix;
        if (!shim(i)) {
            note_leave(strcmp(l->prefix, "cu") == 0 ? NOTE_DRIVER : NOTE_LIBRARY, path);
            continue;
        }
        struct replacing r = {l, shims[i], base, false};
        image_functions(&m, replace, &r);
        opens = true; /* the agent opens CUPTI, which may lie beside this library */
        if (r.failed)
            note_leave(NOTE_LIBRARY, path);
        replaced |= !r.failed && is_own(l, path);
    }
    /* GPU code, but no symbol table and no imported runtime: a runtime is linked in whose functions
     * cannot be found. */
    bool linked_in = device_code && !image_has_section(&m, ".symtab") &&
                     !image_has_symbol(&m, "__cudaRegisterFatBinary", false) &&
                     !image_imports(&m, "cuda");
    if (linked_in && !replaced && !is_vendors(path))
        note_leave(NOTE_STRIPPED, path);
    image_close(&m);
}

/* The objects that the last look has seen. A new object may get the address of one that was
 * closed. */
static const struct link_map **known;
static size_t known_count, known_room;

static bool is_known(const struct link_map *map)
{
    for (size_t i = 0; i < known_count; i++)
        if (known[i] == map)
            return true;
    return false;
}

static size_t count_objects(void)
{
    size_t n = 0;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        n++;
    return n;
}

/* Examines new objects and forgets those that are gone. */
static void look_at_new(void)
{
    size_t n = count_objects(), i = 0;
    if (n > known_room) {
        const struct link_map **larger = realloc(known, (n + 64) * sizeof(void *));
        if (!larger)
            return;
        known = larger;
        known_room = n + 64;
    }
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        if (!is_known(map))
            look_at(map->l_prev ? map->l_name : program, map->l_addr);
    for (const struct link_map *map = _r_debug.r_map; map && i < known_room; map = map->l_next)
        known[i++] = map;
    known_count = i;
}

/* The loader calls this for debuggers whenever its list of objects changes. */
static void changed(void)
{
    if (_r_debug.r_state == RT_CONSISTENT && ready)
        look_at_new();
}

/* Opening a library runs libc's constructor early, before libc knows the program's arguments; so
 * this sets the program's name. */
static void name_program(char **argv)
{
    if (!argv || !argv[0] || (program_invocation_name && *program_invocation_name))
        return;
    char *slash = strrchr(argv[0], '/');
    program_invocation_name = argv[0];
    program_invocation_short_name = slash ? slash + 1 : argv[0];
}

static void reach_all(void)
{
    Dl_info me;
    if (!getenv("GPUPROF_VGPU") || !dladdr((void *)(uintptr_t)&reach_all, &me) || !me.dli_fname)
        return;
    snprintf(own_folder, sizeof own_folder, "%s", me.dli_fname);
    char *slash = strrchr(own_folder, '/');
    if (!slash)
        return;
    *slash = 0;
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = 0;
    look_at_new();
    if (!opens)
        return;
    for (size_t i = 0; i < LIBRARIES; i++)
        shim(i); /* now, because nothing can be loaded later, while the loader is at work */
    ready = jump_write((void *)_r_debug.r_brk, (const void *)(uintptr_t)&changed) == 0;
}

__attribute__((constructor)) static void start(int argc, char **argv, char **environment)
{
    (void)argc;
    if (!environ)
        environ = environment; /* libc's own constructor runs later than this one */
    reach_all();
    name_program(argv);
}
