/* Two versions of the CUDA runtime in one process, each with a library of its own that calls it, as extensions
 * built for another CUDA have. RUNTIME=N is a stand-in of the runtime that answers N, CALLER what calls it; the
 * program loads both callers, in both orders of asking, and prints the answers. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#ifdef RUNTIME
int cudaMemset(void *to, int value, size_t bytes);
int cudaMemset(void *to, int value, size_t bytes)
{
    (void)to, (void)value, (void)bytes;
    return RUNTIME;
}
#elif defined(CALLER)
int cudaMemset(void *to, int value, size_t bytes);
int ask(void);
int ask(void)
{
    volatile int answer = cudaMemset(NULL, 0, 0); /* no jump: the caller is to be seen */
    return answer;
}
#else
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *caller = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*ask)(void) = caller ? (int (*)(void))dlsym(caller, "ask") : NULL;
        if (!ask) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        printf("%d %d\n", ask(), ask());
    }
    return 0;
}
#endif
