/* The functions of a program. They live in chunks that only grow, so a handle's address shows
 * whether it is valid. A PyTorch program registers some hundred thousand functions, and launches
 * them by handle. */
#include "code/function.h"
#include "code/image.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 4096, CHUNKS = 1024, INVALID_CONFIGURATION = 9, INVALID_FUNCTION = 98 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vg_function *chunk[CHUNKS];
static _Atomic size_t count;

struct vg_function *vg_function_new(const void *host, const char *name)
{
    struct vg_function *f = NULL;
    pthread_mutex_lock(&lock);
    size_t at = count, c = at / CHUNK;
    if (c < CHUNKS && !chunk[c])
        chunk[c] = calloc(CHUNK, sizeof *chunk[c]);
    if (c < CHUNKS && chunk[c]) {
        f = &chunk[c][at % CHUNK];
        *f = (struct vg_function){.host = host,
                                  .name = name,
                                  .max_dynamic_smem = 48 * 1024,
                                  .registers = 32,
                                  .max_threads = 1024};
        count = at + 1;
    }
    pthread_mutex_unlock(&lock);
    return f;
}

struct vg_function *vg_function_of(const void *handle)
{
    size_t n = count;
    for (size_t c = 0; c * CHUNK < n; c++) {
        uintptr_t from = (uintptr_t)chunk[c], at = (uintptr_t)handle;
        size_t used = n - c * CHUNK < CHUNK ? n - c * CHUNK : CHUNK;
        if (at >= from && at < from + used * sizeof **chunk)
            return (at - from) % sizeof **chunk == 0 ? (struct vg_function *)at : NULL;
    }
    return NULL;
}

void vg_function_look(struct vg_function *f)
{
    static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
    const struct vg_profile *p = vg_profile(vg_current_device());
    int arch = p->cc_major * 10 + p->cc_minor;
    if (f->known)
        return;
    pthread_mutex_lock(&looking);
    if (!f->known && f->image) {
        vg_image_kernel(f->image, f->name, arch, f);
        char *ptx = vg_image_ptx(f->image, f->name, arch);
        f->code = ptx ? vg_code_read(ptx, f->name) : NULL;
        free(ptx);
        f->moves = f->code ? -1 : vg_image_moves(f->image, f->name);
    }
    f->known = true;
    pthread_mutex_unlock(&looking);
}

/* Launches of the program's own kernels, by the source of their durations. */
static struct {
    _Atomic uint64_t by_code, by_table, of_torch;
} origins;

/* Writes the counts into a file in the recording's folder, for the recorder. Only the first process
 * does. */
__attribute__((destructor)) static void leave_origins(void)
{
    char path[4096], text[160];
    const char *folder = getenv("GPUPROF_DIR");
    if (origins.by_code + origins.by_table + origins.of_torch == 0 || !folder ||
        (size_t)snprintf(path, sizeof path, "%s/kernel_times", folder) >= sizeof path)
        return;
    int n = snprintf(text, sizeof text,
                     "static estimate %" PRIu64 ", by name or size %" PRIu64
                     ", PyTorch's launch conventions %" PRIu64,
                     origins.by_code, origins.by_table, origins.of_torch);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, text, (size_t)n) < 0)
        unlink(path);
    close(fd);
}

/* Duration by the bytes that its machine code moves; -1: unknown. */
static int64_t moved(const struct vg_function *f, const struct vg_profile *p,
                     const struct vg_kernel *k)
{
    double threads = 1;
    for (int i = 0; i < 3; i++)
        threads *= (double)k->grid[i] * (double)k->block[i];
    return f->moves > 0 ? vg_cost_memory(p, threads * f->moves / 2, 2, p->pointwise_eff) : -1;
}

static int64_t duration(struct vg_function *f, const struct vg_profile *p, struct vg_kernel *k,
                        void *const *args)
{
    int64_t ns = vg_cost_torch(p, k->name, k->grid, k->block, args);
    if (ns >= 0) {
        origins.of_torch++;
        return ns;
    }
    vg_function_look(f);
    k->registers = f->registers;
    k->smem_static = f->smem_static;
    ns = f->code ? vg_cost_code(p, f->code, k, args) : moved(f, p, k);
    if (ns >= 0) {
        origins.by_code++;
        return ns;
    }
    origins.by_table++;
    ns = f->code ? vg_cost_data(p, f->code, args) : -1;
    return ns >= 0 ? ns : vg_cost_user_kernel(p, k->name, k->grid, k->block);
}

enum { MOST_ARGUMENTS = 256 };

/* The arguments of a launch; NULL: unknown. */
static void *const *arguments_of(struct vg_function *f, const struct vg_shape *s,
                                 const void *room[MOST_ARGUMENTS])
{
    if (s->args || !s->packed)
        return s->args;
    vg_function_look(f);
    bool known =
        f->code && vg_code_arguments(f->code, s->packed, s->packed_bytes, room, MOST_ARGUMENTS);
    return known ? (void *const *)room : NULL;
}

int vg_function_kernel(struct vg_function *f, const struct vg_profile *p, const struct vg_shape *s,
                       struct vg_kernel *out)
{
    uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
    if (!f)
        return INVALID_FUNCTION;
    if (!s->grid[0] || !s->grid[1] || !s->grid[2] || threads == 0 || threads > 1024 ||
        s->block[2] > 64 || s->grid[1] > 65535 || s->grid[2] > 65535)
        return INVALID_CONFIGURATION;
    if (s->smem > 227 * 1024)
        return VG_INVALID_VALUE;
    *out = (struct vg_kernel){.name = f->name,
                              .smem_static = f->smem_static,
                              .smem_dynamic = (unsigned)s->smem,
                              .registers = f->registers};
    for (int i = 0; i < 3; i++) {
        out->grid[i] = s->grid[i];
        out->block[i] = s->block[i];
    }
    const void *room[MOST_ARGUMENTS];
    int64_t from = vg_now_ns();
    void *const *args = arguments_of(f, s, room);
    out->duration_ns = duration(f, p, out, args);
    vg_emulated(from);
    vg_results_write(&f->results, f->name, args, s->grid);
    return VG_OK;
}
