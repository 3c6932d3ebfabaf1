/* Checks the Python hook, and the PyTorch that it would meet, without importing anything or
 * starting an interpreter: torch/version.py is a text with PyTorch's version and the CUDA that it
 * was built for. */
#include "cli/doctor/doctor.h"
#include "cli/run/run.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_hook(struct doctor *d)
{
    char path[PATH_MAX];
    if (run_folder_python(path, sizeof path) == 0)
        doctor_add(d, DOCTOR_OK, "python-hook", "", "hook for PyTorch: %.200s", path);
    else
        doctor_add(d, DOCTOR_MISSING, "python-hook",
                   "install all of gpuprof: the folder python/ belongs beside the agent",
                   "no hook for PyTorch: gpuprof cannot record data loading and script lines");
}

/* Reads the quoted text behind `NAME =` or `NAME: TYPE =`. -1: not there, or None. */
static int quoted(const char *text, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) != 0 || !strchr(" :=", line[n]))
            continue;
        const char *equals = line + strcspn(line, "=\n"), *from = equals + strcspn(equals, "'\"\n");
        if (*from != '\'' && *from != '"')
            continue;
        snprintf(out, size, "%.*s", (int)strcspn(from + 1, "'\"\n"), from + 1);
        return 0;
    }
    return -1;
}

/* path is .../torch/version.py. */
static bool torch_here(struct doctor *d, const char *path)
{
    char text[4096], version[64], cuda[32];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    if (quoted(text, "__version__", version, sizeof version) < 0)
        return false;
    int folder = (int)(strlen(path) - strlen("/version.py"));
    int major = 0, minor = 0;
    sscanf(version, "%d.%d", &major, &minor);
    /* The oldest version with which the hook was tested. */
    if (major < 1 || (major == 1 && minor < 13))
        doctor_add(d, DOCTOR_NOTE, "pytorch",
                   "the hook needs 1.13 or newer; kernels and calls are recorded with any",
                   "PyTorch %s, too old for its loaders and optimizers to be recorded: %.*s",
                   version, folder, path);
    else if (quoted(text, "cuda", cuda, sizeof cuda) == 0)
        doctor_add(d, DOCTOR_OK, "pytorch", "", "PyTorch %s for CUDA %s: %.*s", version, cuda,
                   folder, path);
    else
        doctor_add(d, DOCTOR_NOTE, "pytorch",
                   "gpuprof records its host side; for the GPU install a CUDA build",
                   "PyTorch %s without CUDA: %.*s", version, folder, path);
    return true;
}

static bool torch_in(struct doctor *d, const char *prefix, const char *below)
{
    char pattern[PATH_MAX];
    glob_t g;
    bool found = false;
    if (!prefix || !*prefix ||
        (size_t)snprintf(pattern, sizeof pattern, "%s%s/torch/version.py", prefix, below) >=
            sizeof pattern ||
        glob(pattern, 0, NULL, &g) != 0)
        return false;
    for (size_t i = g.gl_pathc; i-- > 0 && !found;)
        found = torch_here(d, g.gl_pathv[i]);
    globfree(&g);
    return found;
}

/* In the order in which python3 searches. */
static void check_torch(struct doctor *d)
{
    const struct {
        const char *prefix, *below;
    } places[] = {
        {getenv("VIRTUAL_ENV"), "/lib/python3*/site-packages"},
        {getenv("CONDA_PREFIX"), "/lib/python3*/site-packages"},
        {getenv("HOME"), "/.local/lib/python3*/site-packages"},
        {"/usr/local", "/lib/python3*/dist-packages"},
        {"/usr/local", "/lib/python3*/site-packages"},
        {"/opt/conda", "/lib/python3*/site-packages"},
        {"/usr", "/lib/python3/dist-packages"},
        {"/usr", "/lib/python3*/site-packages"},
        {"/usr", "/lib64/python3*/site-packages"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (torch_in(d, places[i].prefix, places[i].below))
            return;
    doctor_add(d, DOCTOR_OK, "pytorch", "",
               "no PyTorch in the usual places; each program finds its own");
}

void doctor_python(struct doctor *d)
{
    check_hook(d);
    check_torch(d);
}
