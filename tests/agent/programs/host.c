/* host [local|deepbind|global LIBRARY]...: opens libraries as programs that bring their own do, and
 * calls `work` in each that has it. If none has it, the program does what libcuda does with an
 * injection library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int flags(const char *how)
{
    if (strcmp(how, "deepbind") == 0)
        return RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
    return RTLD_NOW | (strcmp(how, "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
}

static int call(void *lib, const char *name)
{
    int (*f)(void) = NULL;
    if (lib)
        *(void **)&f = dlsym(lib, name);
    return f ? f() : -1;
}

int main(int argc, char **argv)
{
    int worked = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        void *lib = dlopen(argv[i + 1], flags(argv[i]));
        if (!lib)
            printf("%s\n", dlerror());
        worked |= call(lib, "work") >= 0;
    }
    const char *injection = getenv("CUDA_INJECTION64_PATH");
    if (!worked && injection)
        call(dlopen(injection, RTLD_NOW), "InitializeInjection");
    printf("done\n");
    return 0;
}
