/* Reads traces of XLA programs (JAX, TensorFlow), which are Chrome JSON too, but have no
 * categories. A process "/device:GPU:0" has a thread for each stream, "Stream #13(Compute)";
 * its other threads show the same time again by operator, module and step. "/host:CPU"
 * contains the CUDA calls. */
#include "analyzer/import/kineto/kineto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLACES = 4096 };

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static const struct kineto_place *place_of(const struct kineto *k, int64_t pid, int64_t tid)
{
    uint32_t found = keymap_get(&k->place_of, (struct key){{pid, tid}});
    return found == KEYMAP_NONE ? NULL : &k->places.at[found];
}

int kineto_xla_note(struct kineto *k, const struct kineto_event *v)
{
    const struct kineto_place *process = place_of(k, v->pid, -1);
    bool device = v->is_process_name && begins(v->label, "/device:GPU:");
    bool host = v->is_process_name && begins(v->label, "/host:");
    bool stream =
        v->is_thread_name && process && process->device >= 0 && begins(v->label, "Stream #");
    if (!(device || host || stream) || k->places.n >= MOST_PLACES)
        return 0;
    struct kineto_place place = {.pid = v->pid, .tid = stream ? v->tid : -1};
    place.device = stream   ? process->device
                   : device ? strtol(v->label + strlen("/device:GPU:"), NULL, 10)
                            : -1;
    struct key key = {{place.pid, place.tid}};
    if (keymap_get(&k->place_of, key) != KEYMAP_NONE)
        return 0; /* if a place is named twice, the first name counts */
    struct kineto_place *p = vec_push(&k->places);
    if (!p || keymap_put(&k->place_of, key, (uint32_t)k->places.n - 1) < 0)
        return err_set(k->e, "out of memory");
    *p = place;
    return 0;
}

/* A copy: "MemcpyH2D"; "memcpy_details" has its size. */
static void settle_copy(struct kineto_event *v)
{
    static const char *const ways[][2] = {
        {"H2D", "HtoD"}, {"D2H", "DtoH"}, {"D2D", "DtoD"}, {"P2P", "PtoP"}};
    const char *size = strstr(v->label, "size:");
    v->category = KINETO_MEMCPY;
    if (size)
        v->bytes = strtoll(size + strlen("size:"), NULL, 10);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strstr(v->head, ways[i][0]))
            memcpy(v->copy, ways[i][1], 5);
}

int kineto_xla_settle(struct kineto *k, struct kineto_event *v)
{
    const struct kineto_place *process = place_of(k, v->pid, -1);
    if (!process)
        return 0;
    if (process->device < 0) {
        bool driver = begins(v->head, "cu") && v->head[2] >= 'A' && v->head[2] <= 'Z';
        v->category = driver                    ? KINETO_DRIVER
                      : begins(v->head, "cuda") ? KINETO_RUNTIME
                                                : KINETO_CPU_OP;
        if (v->step < 0)
            return 0;
        char mark[40]; /* an annotated step has its number as a separate argument */
        snprintf(mark, sizeof mark, "ProfilerStep#%lld", (long long)v->step);
        v->category = KINETO_ANNOTATION;
        v->name = k->out->intern(k->out->self, mark, strlen(mark));
        return 0;
    }
    if (!place_of(k, v->pid, v->tid))
        return 0;
    v->device = process->device;
    v->stream = v->tid;
    if (begins(v->head, "Memcpy") || begins(v->head, "memcpy"))
        settle_copy(v);
    else
        v->category =
            begins(v->head, "Memset") || begins(v->head, "memset") ? KINETO_MEMSET : KINETO_KERNEL;
    return 0;
}
