/* Brings the Python hook into Python processes, and only there: shells and compilers never see
 * gpuprof's folder on PYTHONPATH, and the hook removes it before the program runs. */
#include "agent/core/instrument.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/resolve.h"
#include "agent/python/hook.h"

static char kept_out; /* the option of Python that keeps the hook out; 0: none */

bool hook_is_python(void)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0)
        return false;
    exe[n] = 0;
    const char *slash = strrchr(exe, '/');
    return strncmp(slash ? slash + 1 : exe, "python", 6) == 0;
}

/* False for -I, -E and -S: Python would not read PYTHONPATH, and the folder would stay there. */
static bool looks_there(int argc, char **argv)
{
    for (int i = 1; i < argc && argv[i] && argv[i][0] == '-'; i++) {
        const char *o = argv[i] + 1;
        if (*o == '-' || *o == 0) /* --help, --check-hash-based-pycs MODE; or a script on stdin */
            break;
        for (; *o; o++) {
            if (strchr("IES", *o)) {
                kept_out = *o;
                return false;
            }
            if (*o == 'c' || *o == 'm')
                return true;
            if (*o == 'W' || *o == 'X') {
                i += o[1] == 0;
                break;
            }
        }
    }
    return true;
}

/* Called at the end of a process that may still record. Reports that the hook was kept out of a
 * Python that has loaded PyTorch. */
static void tell_kept_out(void)
{
    char text[160];
    if (!kept_out || resolve_path("libtorch_python.so", text, sizeof text) != 0)
        return;
    snprintf(text, sizeof text,
             "The PyTorch hook was off, because Python ran with -%c: gpuprof does not know "
             "PyTorch's steps, data loading and settings.",
             kept_out);
    kept_out = 0;
    gpuprof_hook_health("python-hook", text);
}

/* Returns an assignment that puts the hook's folder ($GPUPROF_PYTHON) first on PYTHONPATH. NULL if
 * this is not Python, or if its options keep it from looking there. */
static char *python_path(int argc, char **argv)
{
    static char text[16384];
    const char *folder = agent_env("GPUPROF_PYTHON"), *old = agent_env("PYTHONPATH");
    if (!folder || folder[0] != '/' || !hook_is_python())
        return NULL;
    if (!looks_there(argc, argv)) {
        atexit(tell_kept_out);
        return NULL;
    }
    if (old && !*old)
        old = NULL;
    int n =
        snprintf(text, sizeof text, "PYTHONPATH=%s%s%s", folder, old ? ":" : "", old ? old : "");
    return n > 0 && (size_t)n < sizeof text ? text : NULL;
}

const struct instrument instrument_python = {
    .load = python_path,
    .at_exit = tell_kept_out,
};
