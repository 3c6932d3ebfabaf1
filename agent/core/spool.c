/* The spool: the file that holds this process's records until the recorder reads them. This file
 * makes it, gives it room piece by piece, and seals it. */
#include "agent/core/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/core/cancel.h"
#include "agent/core/clock.h"
#include "agent/core/old_names.h"

OLD_NUMBER(strtoull);

/* The most that a process may use. Only what is touched costs memory or disk. */
enum { NAMES = 1 << 17, STRINGS_BYTES = 32 << 20, IMAGES = 64 };

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* When this process started: field 22 of /proc/self/stat, in clock ticks since boot. It counts from
 * the last bracket, because the name in field 2 may hold spaces and brackets. 0: unknown. */
static uint64_t start_ticks(void)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = 0;
    const char *p = strrchr(text, ')');
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* 0 if the program's limits allow a file and a map of this size, else an errno. Writing beyond
 * RLIMIT_FSIZE would kill the program by SIGXFSZ; under RLIMIT_AS the map would take address space
 * that the program itself needs, so it gets a sixteenth at most. */
static int size_allowed(uint64_t bytes)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur / 16 < bytes)
        return ENOMEM;
    if (getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur < bytes)
        return EFBIG;
    return 0;
}

/* The profile may grow on the same disk, and rings need space as well. So CUPTI's buffers may take a
 * quarter of what is free now. */
static uint32_t buffers_for_disk(void)
{
    enum { SHARE = 4, LEAST = 2 };
    struct statfs disk;
    if (statfs(agent.dir, &disk) != 0)
        return SPOOL_BUFFERS;
    uint64_t n = disk.f_bavail * (uint64_t)disk.f_bsize / SPOOL_BUFFER_BYTES / SHARE;
    return n < LEAST ? LEAST : n < SPOOL_BUFFERS ? (uint32_t)n : SPOOL_BUFFERS;
}

static int open_new(uint64_t ticks)
{
    for (int image = 1; image <= IMAGES; image++) {
        char suffix[16] = "";
        if (image > 1)
            snprintf(suffix, sizeof suffix, "-%d", image);
        int n = snprintf(agent.path, sizeof agent.path, "%s/%d-%llu%s" SPOOL_SUFFIX, agent.dir,
                         (int)getpid(), (unsigned long long)ticks, suffix);
        if (n < 0 || (size_t)n >= sizeof agent.path) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(agent.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static void leave_failed(uint64_t ticks, int why)
{
    char path[sizeof agent.path];
    int n = snprintf(path, sizeof path, "%s/%d-%llu.%d" SPOOL_FAILED_SUFFIX, agent.dir,
                     (int)getpid(), (unsigned long long)ticks, why);
    if (n < 0 || (size_t)n >= sizeof path)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        close(fd);
}

static void lay_out(struct spool_header *h, uint64_t ticks, uint32_t buffers)
{
    uint32_t rings = SPOOL_THREADS + buffers / (SPOOL_BUFFERS / (SPOOL_RINGS - SPOOL_THREADS));
    uint64_t at = AGENT_ALIGN(sizeof *h, (uint64_t)SPOOL_ALIGN);
    *h = (struct spool_header){
        .version = SPOOL_VERSION,
        .header_bytes = sizeof *h,
        .pid = (int32_t)getpid(),
        .ppid = (int32_t)getppid(),
        .start_ticks = ticks,
        .start_monotonic_ns = clock_now_ns(),
        .start_realtime_ns = clock_read_ns(CLOCK_REALTIME),
        .buffer_count = buffers,
        .buffer_bytes = SPOOL_BUFFER_BYTES,
        .ring_count = rings,
        .ring_bytes = SPOOL_RING_BYTES,
        .names_cap = NAMES,
        .anchors_cap = SPOOL_ANCHORS,
        .strings_cap = STRINGS_BYTES,
    };
    const struct {
        uint64_t *off, bytes;
    } parts[] = {
        {&h->descs_off, sizeof(struct spool_buffer_desc) * buffers},
        {&h->rings_off, sizeof(struct spool_ring) * rings},
        {&h->names_off, sizeof(struct spool_name) * NAMES},
        {&h->strings_off, STRINGS_BYTES},
        {&h->buffers_off, (uint64_t)SPOOL_BUFFER_BYTES * buffers},
        {&h->ring_data_off, (uint64_t)SPOOL_RING_BYTES * rings},
    };
    for (size_t i = 0; i < AGENT_ARRAY_LEN(parts); i++) {
        *parts[i].off = at;
        at += AGENT_ALIGN(parts[i].bytes, (uint64_t)SPOOL_ALIGN);
    }
    h->file_bytes = at;
}

/* Touching a page of the map also takes its room on disk, and fails if the disk is full. */
static bool touching_takes_room;

/* True on file systems of this machine: there a page fault that writes reserves the block, or
 * raises SIGBUS. A network file system asks its server only when the page is written back. The
 * numbers are those of linux/magic.h, and XFS's own. */
static bool is_local(int fd)
{
    static const uint32_t known[] = {0x01021994 /* tmpfs */,   0xEF53 /* ext2 to ext4 */,
                                     0x58465342 /* XFS */,     0x9123683E /* Btrfs */,
                                     0x794c7630 /* overlay */, 0xF2F52010 /* F2FS */};
    struct statfs of;
    if (fstatfs(fd, &of) != 0)
        return false;
    for (size_t i = 0; i < AGENT_ARRAY_LEN(known); i++)
        if ((uint32_t)of.f_type == known[i])
            return true;
    return false;
}

/* Touches the pages, so that later writes take no page fault. The kernel does it from Linux 5.14
 * on, and reports an error instead of raising SIGBUS. On older kernels the loop does it: adding 0
 * changes nothing that another thread may have written. *by_kernel: which of the two. */
static int touch(char *from, uint64_t len, bool *by_kernel)
{
    *by_kernel = madvise(from, len, MADV_POPULATE_WRITE) == 0;
    if (*by_kernel)
        return 0;
    if (errno == EFAULT || errno == ENOMEM)
        return -1;
    for (uint64_t i = 0; i < len; i += SPOOL_PAGE)
        atomic_fetch_add_explicit((_Atomic char *)from + i, 0, memory_order_relaxed);
    return 0;
}

/* Reserves room on disk. Called only where touching does not do so, because it opens the file for a
 * moment: an open() of the program may then return another descriptor than without the agent, and a
 * filter of system calls may not allow openat. Keeping the descriptor open would be no better,
 * since some programs close all descriptors that they did not open. */
static int reserve(uint64_t off, uint64_t len)
{
    int fd = open(agent.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    int failed = posix_fallocate(fd, (off_t)off, (off_t)len);
    close(fd);
    return failed ? -1 : 0;
}

int spool_grow(uint64_t off, uint64_t len)
{
    int saved = errno, rc = 0;
    bool by_kernel;
    if (atomic_load_explicit(&agent.spool->full, memory_order_relaxed))
        return -1; /* the collector allows no more: all spools together have reached their limit */
    int state = cancel_disable();
    bool may = lock_all_begin_grow();
    if (!may)
        rc = -1;
    else if (!touching_takes_room)
        rc = reserve(off, len);
    if (rc == 0)
        rc = mprotect((char *)agent.spool + off, len, PROT_READ | PROT_WRITE);
    if (rc == 0)
        rc = touch((char *)agent.spool + off, len, &by_kernel);
    lock_all_end_grow(off, may ? len : 0);
    cancel_restore(state);
    errno = saved; /* the program must find its own errno */
    return rc;
}

/* Maps the whole file and makes the part accessible that every spool needs: header, descriptors and
 * ring headers. The rest stays inaccessible until spool_grow, so that mlockall does not give it
 * memory. Returns 0 or an errno. */
static int map_file(int fd, const struct spool_header *h)
{
    if (ftruncate(fd, (off_t)h->file_bytes) != 0)
        return errno;
    int failed = posix_fallocate(fd, 0, (off_t)h->names_off);
    if (failed)
        return failed;
    char *map = mmap(NULL, h->file_bytes, PROT_NONE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return errno;
    madvise(map, h->file_bytes, MADV_RANDOM); /* read-ahead would clear megabytes for one page */
    madvise(map, h->file_bytes, MADV_DONTFORK);
    madvise(map, h->file_bytes, MADV_DONTDUMP);
    bool by_kernel;
    if (mprotect(map, h->names_off, PROT_READ | PROT_WRITE) != 0 ||
        touch(map, h->names_off, &by_kernel) != 0) {
        munmap(map, h->file_bytes);
        return ENOSPC;
    }
    touching_takes_room = by_kernel && is_local(fd);
    *(struct spool_header *)map = *h;
    agent.spool = (struct spool_header *)map;
    lock_all_new_spool();
    return 0;
}

int spool_create(void)
{
    /* 33 KiB: too large for a small stack; only one thread makes a spool */
    static struct spool_header h;
    int saved = errno;
    uint64_t ticks = start_ticks();
    uint32_t buffers = buffers_for_disk();
    lay_out(&h, ticks, buffers);
    for (; size_allowed(h.file_bytes) && buffers > SPOOL_FEW_BUFFERS; lay_out(&h, ticks, buffers))
        /* the program's limits allow less: many launches at once may then lose records */
        buffers /= 2;
    int failed = size_allowed(h.file_bytes);
    int fd = failed ? -1 : open_new(ticks);
    if (!failed && fd < 0)
        failed = errno;
    if (fd >= 0) {
        failed = map_file(fd, &h);
        close(fd);
        if (!failed && strings_open() != 0)
            failed = ENOSPC;
        if (failed)
            unlink(agent.path);
    }
    if (failed) {
        leave_failed(ticks, failed);
        errno = saved;
        return -1;
    }
    clock_anchor();
    atomic_thread_fence(memory_order_release);
    memcpy(agent.spool->magic, SPOOL_MAGIC, sizeof agent.spool->magic);
    errno = saved;
    return 0;
}

void spool_seal(void)
{
    clock_anchor();
    atomic_store_explicit(&agent.spool->sealed, 1, memory_order_release);
    spool_wake();
}

void spool_wake(void)
{
    atomic_fetch_add_explicit(&agent.spool->wake, 1, memory_order_release);
    syscall(SYS_futex, &agent.spool->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
