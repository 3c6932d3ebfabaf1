/* Start of the virtual GPU: options, devices, what libcuda does at its first call (injection),
 * fork. All of it happens at the first CUDA call, not when the library is loaded. */
#include "core/core_state.h"

#include <dlfcn.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct vg_core vg_core = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_correlation = 1, .next_id = 1};

static pthread_mutex_t start_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Atomic int state; /* 0: not tried; 1: running; 2: devices only; negative: minus the error */
static bool injecting;
static _Thread_local int current_device;
static _Thread_local bool bound; /* the thread has a current context */
static char options[512];
static _Atomic uint64_t noise_state;

const char *vg_library_dir(void)
{
    static char dir[4096];
    Dl_info info;
    if (!dir[0] && dladdr(&vg_core, &info) && info.dli_fname) {
        snprintf(dir, sizeof dir, "%s", info.dli_fname);
        char *slash = strrchr(dir, '/');
        if (slash)
            *slash = 0;
        else
            snprintf(dir, sizeof dir, ".");
    }
    return dir;
}

static void read_options(void)
{
    const char *text = getenv("GPUPROF_VGPU");
    snprintf(options, sizeof options, "%s", text ? text : "");
}

const char *vg_option_text(const char *key)
{
    static _Thread_local char value[128];
    if (!options[0])
        read_options(); /* CUPTI's shim may ask before any CUDA call */
    size_t n = strlen(key);
    for (const char *p = strchr(options, ','); p; p = strchr(p, ',')) {
        p++;
        if (strncmp(p, key, n) == 0 && p[n] == '=') {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(p + n + 1, ","), p + n + 1);
            return value;
        }
    }
    return NULL;
}

double vg_option(const char *key, double unset)
{
    const char *text = vg_option_text(key);
    return text ? strtod(text, NULL) : unset;
}

/* False for an unknown key, with a line in `why`: a typing error must not run with other
 * settings. */
static bool options_known(char *why, size_t n)
{
    size_t length = 0;
    const char *wrong = vgpu_options_wrong(options, &length);
    if (wrong)
        snprintf(why, n, "GPUPROF_VGPU: it does not take '%.*s'", (int)length, wrong);
    return !wrong;
}

/* How many of `count` devices CUDA_VISIBLE_DEVICES leaves. All devices are alike, so only the
 * number matters. As in CUDA, the list ends at the first entry that names no device. */
static int visible(int count)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int n = 0;
    if (!list)
        return count;
    while (n < count) {
        char *end;
        long index = strtol(list, &end, 10);
        if (end == list || index < 0 || index >= count)
            break;
        n++;
        if (*end != ',')
            break;
        list = end + 1;
    }
    return n;
}

/* As many devices as local ranks, since a launcher gives each rank its own. */
static double default_devices(void)
{
    const char *ranks = getenv("LOCAL_WORLD_SIZE");
    long n = ranks ? strtol(ranks, NULL, 10) : 1;
    if (!ranks && vg_gauges_watch())
        n = vg_gauges_devices();
    return n >= 1 && n <= VG_MAX_DEVICES ? (double)n : 1;
}

static int open_devices(char *why, size_t n)
{
    char model[64];
    snprintf(model, sizeof model, "%.*s", (int)strcspn(options, ","), options);
    int count = (int)vg_option("devices", default_devices());
    count = visible(count);
    if (count == 0) {
        snprintf(why, n, "CUDA_VISIBLE_DEVICES hides all devices");
        return -1;
    }
    for (int i = 0; i < count; i++) {
        struct vg_device *d = &vg_core.device[i];
        d->index = i;
        if (vg_profile_load(model, &d->profile, why, n) != 0)
            return -1;
        d->capacity = (size_t)d->profile.memory_bytes;
        /* A process that only reads gauges needs no address range of the size of the device's
         * memory. */
        if (!vg_gauges_watch() && vg_memory_open(d) != 0) {
            snprintf(why, n, "no address space for %.0f GB of modelled memory",
                     d->profile.memory_bytes / 1e9);
            return -1;
        }
        d->context_id = vg_core.next_id++;
        d->next_stream_id = 7; /* CUPTI numbers a context's legacy stream so */
    }
    vg_core.scale = vg_option("scale", 1);
    vg_core.throttle = vg_option("throttle", 1);
    vg_core.throttle_from_s = vg_option("throttle_from", 0);
    vg_core.throttle_for_s = vg_option("throttle_for", 1e9);
    if (!(vg_core.throttle > 0 && vg_core.throttle <= 1)) {
        snprintf(why, n, "GPUPROF_VGPU: throttle is a share of the clock, above 0 up to 1");
        return -1;
    }
    vg_core.noise_sigma = vg_option("noise", 0.01);
    vg_core.own_work = vg_option("own_work", 1) != 0;
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    vg_core.launch_blocking = blocking && strcmp(blocking, "1") == 0;
    vg_core.copy_limit = (size_t)vg_option("copy", 65536);
    noise_state = (uint64_t)vg_option("seed", 1) * 0x9e3779b97f4a7c15u + 1;
    if (vg_option("wrap_correlation", 0) != 0)
        vg_core.next_correlation = 0xffffff00u;
    vg_core.device_count = count;
    vg_gauges_open(count);
    return 0;
}

/* Loads the profiler, as libcuda does inside cuInit. The profiler may call CUDA again on this
 * thread. */
static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (!path || !*path)
        return;
    injecting = true;
    void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    int (*entry)(void) = NULL;
    if (lib)
        *(void **)&entry = dlsym(lib, "InitializeInjection");
    if (entry)
        entry();
    injecting = false;
}

static void in_child(void)
{
    vg_gauges_forget();
    if (state > 0)
        state = -VG_INIT_ERROR; /* a context does not survive fork */
}

static int open_locked(void)
{
    char why[256] = "";
    read_options();
    if (!options[0]) {
        snprintf(why, sizeof why,
                 "set GPUPROF_VGPU=MODEL (t4, v100, l4, l40s, a100-40, a100-80, "
                 "h100, h200, b200, rtx4090, ...)");
    } else if (options_known(why, sizeof why) && open_devices(why, sizeof why) == 0) {
        pthread_atfork(NULL, NULL, in_child);
        return 2;
    }
    fprintf(stderr, "virtual GPU: %s\n", why);
    return -VG_NO_DEVICE;
}

int vg_open(void)
{
    pthread_mutex_lock(&start_lock);
    if (state == 0)
        state = open_locked();
    int now = state;
    pthread_mutex_unlock(&start_lock);
    return now > 0 ? VG_OK : -now;
}

int vg_start(void)
{
    if (state == 1)
        return VG_OK;
    if (state < 0)
        return -state;
    pthread_mutex_lock(&start_lock);
    int bad = vg_open();
    if (!bad && state == 2 && !injecting) {
        inject();
        vg_sleep_until(vg_now_ns() + (int64_t)(vg_option("connect", 0) * 1e6));
        state = 1;
    }
    pthread_mutex_unlock(&start_lock);
    return bad;
}

int vg_device_count(void)
{
    return vg_start() == VG_OK ? vg_core.device_count : 0;
}

int vg_current_device(void)
{
    return current_device;
}

void vg_set_current_device(int device)
{
    current_device = device;
    bound = true;
}

bool vg_context_bound(void)
{
    return bound;
}

void vg_context_unbind(void)
{
    bound = false;
}

void vg_context_make(int device)
{
    if (!atomic_exchange(&vg_core.device[device].context_made, true))
        vg_context_told();
}

void vg_context_use(int device)
{
    vg_context_make(device);
    bound = true;
}

const struct vg_profile *vg_profile(int device)
{
    return &vg_core.device[device].profile;
}

static double uniform(void)
{
    uint64_t z = atomic_fetch_add(&noise_state, 0x9e3779b97f4a7c15u) + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* The sum of four uniform numbers is close enough to a normal one, and is bounded. */
double vg_noise(void)
{
    double sum = uniform() + uniform() + uniform() + uniform() - 2;
    double factor = 1 + vg_core.noise_sigma * sum * 1.7320508;
    return factor > 0.2 ? factor : 0.2;
}

/* Writes the missing call's name into a file in the recording's folder, for the recorder. */
static void leave_name(const char *name)
{
    char path[4096];
    const char *folder = getenv("GPUPROF_DIR");
    if (!folder || (size_t)snprintf(path, sizeof path, "%s/missing_call", folder) >= sizeof path)
        return;
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fputs(name, f);
    fclose(f);
}

void vg_trap(const char *library, const char *name)
{
    leave_name(name);
    fprintf(stderr,
            "virtual GPU: %s (%s) is not modelled; run this program on a real GPU, or leave the "
            "call out\n",
            name, library);
    exit(1);
}
