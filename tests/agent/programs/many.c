/* Many processes and threads.
 *   many children N   N processes at once; each marks ten ranges and waits until all have
 *   many chain N      one process that runs N programs one after the other by exec; each marks ten
 *                     ranges
 *   many threads N    N threads at once; each marks ten ranges
 *   many churn N      N threads one after the other; each marks one range; prints how long one
 *                     took, in us
 *   many burst N      four threads at once; each marks N ranges without a pause
 *   many confined N   like `threads`, but the kernel kills the process if a thread opens a file;
 *                     exit status 77 where the kernel has no such filter */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

static void mark(void)
{
    for (int i = 0; i < 10; i++) {
        nvtxRangePushA("many");
        nvtxRangePop();
    }
}

static int children(int n)
{
    int ready[2], go[2], good = 0, status;
    char c;
    if (pipe(ready) != 0 || pipe(go) != 0)
        return 2;
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 2;
        if (pid > 0)
            continue;
        close(go[1]);
        mark();
        if (write(ready[1], "x", 1) != 1 || read(go[0], &c, 1) != 0)
            _exit(1);
        _exit(0);
    }
    for (int i = 0; i < n; i++)
        if (read(ready[0], &c, 1) != 1)
            return 2;
    sleep(1); /* the collector meets them all alive */
    close(go[1]);
    while (wait(&status) > 0)
        good += status == 0;
    printf("%d children\n", good);
    return good != n;
}

static pthread_barrier_t all_marked;

static void *mark_and_wait(void *arg)
{
    mark();
    pthread_barrier_wait(&all_marked);
    return arg;
}

static int threads(int n)
{
    pthread_attr_t small;
    pthread_t *t = calloc((size_t)n, sizeof *t);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_barrier_init(&all_marked, NULL, (unsigned)n);
    for (int i = 0; t && i < n; i++)
        if (pthread_create(&t[i], &small, mark_and_wait, NULL) != 0)
            return 2;
    for (int i = 0; t && i < n; i++)
        pthread_join(t[i], NULL);
    free(t);
    printf("%d threads\n", n);
    return !t;
}

/* The program's first mark has loaded what it needs; from here on nothing is opened. */
static int confined(int n)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof rules / sizeof *rules, .filter = rules};
    mark();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 77;
    return threads(n);
}

static void *mark_many(void *arg)
{
    for (int i = 0; i < *(const int *)arg; i++) {
        nvtxRangePushA("burst");
        nvtxRangePop();
    }
    return arg;
}

static int burst(int n)
{
    enum { THREADS = 4 };
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, mark_many, &n) != 0)
            return 2;
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("%d ranges\n", THREADS * n);
    return 0;
}

static void *mark_one(void *arg)
{
    nvtxRangePushA("short");
    nvtxRangePop();
    return arg;
}

static int churn(int n)
{
    struct timespec a, b;
    pthread_t t;
    mark_one(NULL); /* what is done once in a process */
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < n; i++)
        if (pthread_create(&t, NULL, mark_one, NULL) != 0 || pthread_join(t, NULL) != 0)
            return 2;
    clock_gettime(CLOCK_MONOTONIC, &b);
    double us = (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3;
    printf("%.2f us a thread\n", us / n);
    return 0;
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 0;
    if (argc > 2 && strcmp(argv[1], "children") == 0)
        return children(n);
    if (argc > 2 && strcmp(argv[1], "threads") == 0)
        return threads(n);
    if (argc > 2 && strcmp(argv[1], "confined") == 0)
        return confined(n);
    if (argc > 2 && strcmp(argv[1], "churn") == 0)
        return churn(n);
    if (argc > 2 && strcmp(argv[1], "burst") == 0)
        return burst(n);
    mark();
    if (n <= 1) {
        printf("the last\n");
        return 0;
    }
    char left[16];
    snprintf(left, sizeof left, "%d", n - 1);
    execl("/proc/self/exe", argv[0], "chain", left, (char *)NULL);
    return 2;
}
