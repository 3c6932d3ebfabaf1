/* Chooses the device of a run: the real GPU, or a virtual one and its libraries. */
#include "cli/run/run.h"
#include "vgpu/include/vgpu_options.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char default_model[] = "h200";

/* Lists the models for the error message: the profiles beside the libraries. */
static void known_models(const char *folder, char *out, size_t n)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/profiles", folder);
    struct dirent **list;
    int count = scandir(path, &list, NULL, alphasort);
    out[0] = 0;
    for (int i = 0; i < count; i++) {
        char *dot = strrchr(list[i]->d_name, '.');
        if (dot && strcmp(dot, ".ini") == 0) {
            size_t used = strlen(out);
            snprintf(out + used, n - used, "%s%.*s", used ? ", " : "", (int)(dot - list[i]->d_name),
                     list[i]->d_name);
        }
        free(list[i]);
    }
    if (count >= 0)
        free(list);
}

static int is_library(const struct dirent *e)
{
    return strncmp(e->d_name, "lib", 3) == 0 && strstr(e->d_name, ".so.");
}

/* Sorts newer versions first: a program that asks for a symbol without its version gets
 * libcupti.so.13, not libcupti.so.12. */
static int newest_first(const struct dirent **a, const struct dirent **b)
{
    return alphasort(b, a);
}

/* Lists the libraries that the virtual GPU replaces, for LD_PRELOAD. Returns their number, -1 if
 * there is no room. LD_LIBRARY_PATH would not do: a program's RPATH comes before it, and in
 * PyTorch's wheels leads to the vendor's own libraries. */
static int list_libraries(const char *folder, char *out, size_t n)
{
    struct dirent **list;
    int count = scandir(folder, &list, is_library, newest_first);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        if (used < n)
            used += (size_t)snprintf(out + used, n - used, "%s%s/%s", i ? ":" : "", folder,
                                     list[i]->d_name);
        free(list[i]);
    }
    if (count >= 0)
        free(list);
    return used < n ? count : -1;
}

static int check_options(const char *model, struct err *e)
{
    size_t n = 0;
    const char *wrong = vgpu_options_wrong(model, &n);
    return !wrong ? 0
                  : err_set(e,
                            "the virtual GPU does not take '%.*s'; devices=N gives the program N "
                            "GPUs, 1 to %d",
                            (int)n, wrong, VGPU_MOST_DEVICES);
}

static int choose_virtual(struct run_device *d, const char *model, struct err *e)
{
    char path[PATH_MAX + 300], known[256];
    int libraries = run_folder_virtual_gpu(d->library, sizeof d->library) == 0
                        ? list_libraries(d->library, d->preload, sizeof d->preload)
                        : 0;
    if (libraries == 0)
        return err_set(
            e, "this build of gpuprof has no virtual GPU (building it needs the CUDA Toolkit)");
    d->is_virtual = true;
    if (run_file_preloadable(d->library, e) < 0)
        return -1;
    if ((size_t)snprintf(d->nvml, sizeof d->nvml, "%s/libnvidia-ml.so.1", d->library) >=
            sizeof d->nvml ||
        (size_t)snprintf(d->reach, sizeof d->reach, "%s/libvgpu-reach.so", d->library) >=
            sizeof d->reach ||
        libraries < 0)
        return err_set(e, "the path of the virtual GPU is too long");
    size_t n = strcspn(model, ",");
    /* a100 means a100-80. */
    bool short_name = n == strlen("a100") && strncmp(model, "a100", n) == 0;
    if ((size_t)snprintf(d->model, sizeof d->model, "%.*s%s%s", (int)n, model,
                         short_name ? "-80" : "", model + n) >= sizeof d->model)
        return err_set(e, "--device: the name is too long");
    model = d->model;
    n = strcspn(model, ",");
    snprintf(path, sizeof path, "%s/profiles/%.*s.ini", d->library, (int)n, model);
    if (n > 0 && !memchr(model, '/', n) && access(path, R_OK) == 0)
        return check_options(model, e);
    known_models(d->library, known, sizeof known);
    return err_set(e, "no virtual GPU '%.*s'; the models are: %s", (int)n, model, known);
}

static bool gpu_present(void)
{
    /* Device nodes of the driver: native, WSL, Tegra. */
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0 ||
           access("/dev/nvgpu", F_OK) == 0 || access("/dev/nvhost-gpu", F_OK) == 0;
}

int device_choose(struct run_device *d, const char *choice, struct err *e)
{
    *d = (struct run_device){0};
    if (!choice || strcmp(choice, "auto") == 0) {
        d->no_gpu = !gpu_present();
        return 0;
    }
    if (strcmp(choice, "virtual") == 0)
        return choose_virtual(d, default_model, e);
    if (strncmp(choice, "virtual:", 8) == 0)
        return choose_virtual(d, choice + 8, e);
    return err_set(e, "--device needs auto or virtual[:MODEL], not '%s'", choice);
}
