/* Runs a function on a stack of its own if the process's stack is too small (room.h). */
#include "cli/common/room.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

/* The deepest commands use half a megabyte; many systems give 8 MiB. Only touched pages cost
 * memory. */
enum { LEAST_BYTES = 2 << 20, OWN_BYTES = 8 << 20 };

static struct {
    int (*run)(int argc, char **argv);
    char **argv;
    int argc, status;
} call;

static void enter(void)
{
    call.status = call.run(call.argc, call.argv);
}

int run_on_large_stack(int (*run)(int argc, char **argv), int argc, char **argv)
{
    struct rlimit limit;
    pthread_attr_t threads;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= LEAST_BYTES)
        return run(argc, argv);
    void *stack = mmap(NULL, OWN_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        return run(argc, argv);
    if (pthread_attr_init(&threads) == 0) {
        pthread_attr_setstacksize(&threads, OWN_BYTES);
        pthread_setattr_default_np(&threads);
        pthread_attr_destroy(&threads);
    }
    ucontext_t before, own;
    getcontext(&own);
    own.uc_stack.ss_sp = stack;
    own.uc_stack.ss_size = OWN_BYTES;
    own.uc_link = &before;
    call.run = run;
    call.argc = argc;
    call.argv = argv;
    makecontext(&own, enter, 0);
    swapcontext(&before, &own);
    return call.status;
}
