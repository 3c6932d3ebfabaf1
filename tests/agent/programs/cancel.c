/* Threads that are cancelled while they mark ranges, with a mutex held. Marking a range must not be
 * a cancellation point: each thread must finish its marks and be cancelled at its own cancellation
 * point. Such a thread also makes the very first mark of the process, and one thread marks more
 * names than the agent has room for at first. Prints `reached 3 of 3`, then marks 20 more
 * ranges. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <nvtx3/nvToolsExt.h>

enum { NAMES = 400, LENGTH = 1000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int cancelled, reached;

static void mark(const char *name)
{
    nvtxRangePushA(name);
    nvtxRangePop();
}

static void *work(void *many)
{
    char name[LENGTH + 1];
    while (!cancelled) /* no cancellation point */
        ;
    if (pthread_mutex_trylock(&mutex) != 0) /* one was cancelled with it */
        return NULL;
    mark("pending");
    memset(name, 'x', LENGTH);
    for (int i = 0; many && i < NAMES; i++) {
        snprintf(name + LENGTH - 8, 9, "%08d", i);
        mark(name);
    }
    reached++;
    pthread_mutex_unlock(&mutex);
    pthread_testcancel();
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_t t;
        void *end = NULL;
        cancelled = 0;
        if (pthread_create(&t, NULL, work, i == 2 ? "many" : NULL) != 0)
            return 2;
        pthread_cancel(t);
        cancelled = 1;
        pthread_join(t, &end);
        if (end != PTHREAD_CANCELED)
            return 3;
    }
    printf("reached %d of 3\n", reached);
    if (pthread_mutex_trylock(&mutex) != 0)
        return 4;
    for (int i = 0; i < 20; i++)
        mark("after");
    return 0;
}
