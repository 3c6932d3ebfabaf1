/* Two versions of the CUDA runtime in one process, each with a library that calls it, as with
 * extensions that were built for another CUDA. Compiled with RUNTIME=N this is a stand-in for a
 * runtime that returns N; compiled with CALLER it is the library that calls it. The program loads
 * both callers, asks in both orders, and prints the answers. */
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
