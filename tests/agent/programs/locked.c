/* locked KIB [FLAGS]: a program that may lock KIB of memory and calls mlockall, then marks ranges: 6
 * threads, 40,000 each, which fill several rings. Prints what mlockall said, whether the memory that the
 * program has and the memory that it takes afterwards are locked, and how many ranges it marked. Exit
 * status 77: the limit cannot be set here. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <nvtx3/nvToolsExt.h>

enum { THREADS = 6, RANGES = 40000, BYTES = 64 << 10 };

/* Root may lock all there is; this program may not. */
static int limit(unsigned long kib)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2];
    struct rlimit most;
    if (syscall(SYS_capget, &head, caps) != 0 || getrlimit(RLIMIT_MEMLOCK, &most) != 0)
        return -1;
    most.rlim_cur = kib << 10;
    caps[0].effective &= ~(1u << CAP_IPC_LOCK);
    return syscall(SYS_capset, &head, caps) != 0 || setrlimit(RLIMIT_MEMLOCK, &most) != 0;
}

/* True if the kernel counts the page as locked: then its address cannot be dropped. */
static int is_locked(char *page)
{
    return madvise(page, 4096, MADV_DONTNEED) != 0 && errno == EINVAL;
}

static void *mark(void *unused)
{
    for (int i = 0; i < RANGES; i++) {
        nvtxRangePushA("marked");
        nvtxRangePop();
    }
    return unused;
}

int main(int argc, char **argv)
{
    int flags = argc > 2 ? atoi(argv[2]) : MCL_CURRENT | MCL_FUTURE;
    char *before = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (argc < 2 || limit(strtoul(argv[1], NULL, 10)) != 0)
        return 77;
    int failed = mlockall(flags);
    printf("mlockall %d, %s\n", failed, failed ? strerror(errno) : "locked");
    char *after = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("before %d, after %d\n", is_locked(before), is_locked(after));
    pthread_t t[THREADS];
    pthread_attr_t small; /* stacks that fit into the limit */
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 4 * PTHREAD_STACK_MIN);
    int n = 0;
    for (int i = 0; i < THREADS; i++)
        n += pthread_create(&t[i], &small, mark, NULL) == 0;
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    printf("%d ranges\n", n * RANGES);
    return 0;
}
