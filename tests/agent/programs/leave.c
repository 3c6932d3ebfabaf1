/* leave HOW: what a program may do with its threads and its memory while it uses a GPU.
 *   threads   main leaves by pthread_exit, and the process ends with its last thread
 *   main      the same without another thread
 *   function  the same, with a host function in a stream
 *   cancel    threads are cancelled in calls that wait
 *   lock      mlockall, which must lock the program's memory, not the card's
 *   lowest    files that the program opens must get the lowest free number
 *   short     500 threads one after the other, each with one copy
 *   confined  the same, where the kernel kills a process that opens a file */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

enum { BYTES = 1024, BIG = 64 << 20, CANCELLED = 12, MOST_KB = 1 << 20 };

static void *device, *host;

static void nap(void *unused)
{
    (void)unused;
    usleep(20000);
}

static void *work(void *function)
{
    char bytes[BYTES] = {0};
    for (int i = 0; i < 20; i++)
        cudaMemcpy(device, bytes, BYTES, cudaMemcpyHostToDevice);
    if (function)
        cudaLaunchHostFunc(0, nap, NULL);
    cudaDeviceSynchronize();
    puts("worked");
    return NULL;
}

static void *call(void *function)
{
    for (;;) {
        if (function)
            cudaLaunchHostFunc(0, nap, NULL);
        else
            cudaMemcpyAsync(device, host, BIG, cudaMemcpyHostToDevice, 0);
        cudaStreamSynchronize(0);
        pthread_testcancel();
    }
    return NULL;
}

static int cancel(void)
{
    cudaMallocHost(&host, BIG);
    for (int i = 0; i < CANCELLED; i++) {
        pthread_t t;
        pthread_create(&t, NULL, call, i % 2 ? device : NULL);
        usleep(3000 + (useconds_t)i * 1100);
        pthread_cancel(t);
        pthread_join(t, NULL);
        if (cudaDeviceSynchronize() != cudaSuccess)
            return 1;
    }
    puts("cancelled");
    return 0;
}

static int lock(void)
{
    char line[128];
    long kb = 0;
    int locked = mlockall(MCL_CURRENT | MCL_FUTURE);
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmRSS: %ld", &kb);
    printf("%d, %s\n", locked, kb < MOST_KB ? "little" : "too much");
    return 0;
}

static int lowest(void)
{
    char bytes[BYTES] = {0};
    int other = 0, first = open("/dev/null", O_RDONLY);
    close(first);
    for (int i = 0; i < 5000; i++) {
        cudaMemcpyAsync(device, bytes, BYTES, cudaMemcpyHostToDevice, 0);
        for (int k = 0; k < 10; k++) {
            int fd = open("/dev/null", O_RDONLY);
            other += fd != first;
            close(fd);
        }
    }
    printf("%d others\n", other);
    return 0;
}

static void *copy_once(void *unused)
{
    char bytes[BYTES] = {0};
    cudaMemcpy(device, bytes, BYTES, cudaMemcpyHostToDevice);
    return unused;
}

static int short_threads(void)
{
    int good = 0;
    for (int i = 0; i < 500; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, copy_once, NULL) == 0)
            good += pthread_join(t, NULL) == 0;
    }
    printf("%d threads\n", good);
    return 0;
}

/* The kernel kills the process if any thread opens a file from now on. */
static int confined(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof rules / sizeof *rules, .filter = rules};
    work(NULL);
    usleep(300000); /* what is opened once has been */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
        return 77;
    return short_threads();
}

static void at_exit(void)
{
    puts("over");
}

int main(int argc, char **argv)
{
    pthread_t t;
    const char *how = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    atexit(at_exit);
    if (strcmp(how, "lock") == 0)
        lock();
    if (cudaMalloc(&device, BIG) != cudaSuccess)
        return 2;
    if (strcmp(how, "cancel") == 0)
        return cancel();
    if (strcmp(how, "lowest") == 0)
        return lowest();
    if (strcmp(how, "short") == 0)
        return short_threads();
    if (strcmp(how, "confined") == 0)
        return confined();
    if (strcmp(how, "threads") == 0)
        pthread_create(&t, NULL, work, NULL);
    else
        work(strcmp(how, "function") == 0 ? device : NULL);
    if (strcmp(how, "lock") == 0)
        return lock();
    pthread_exit(NULL);
}
