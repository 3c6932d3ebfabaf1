/* Preloaded into programs on a machine with 4-KiB pages, to imitate a kernel with 64-KiB pages:
 * mappings begin at addresses that are multiples of 64 KiB; mprotect and madvise inside them, and
 * file offsets, are refused unless they are such multiples, too. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 64 << 10, MAPS = 4096 };

static struct {
    uintptr_t from, to;
} maps[MAPS];
static _Atomic unsigned count;

static bool within_page(const void *at)
{
    bool ours = false;
    for (unsigned i = 0; i < count && i < MAPS; i++)
        ours |= (uintptr_t)at >= maps[i].from && (uintptr_t)at < maps[i].to;
    return ours && (uintptr_t)at % PAGE;
}

static long refuse(void)
{
    errno = EINVAL;
    return -1;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (offset % PAGE || ((flags & MAP_FIXED) && within_page(at)))
        return (void *)refuse();
    if (flags & MAP_FIXED || at)
        return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
    long room = syscall(SYS_mmap, 0, bytes + PAGE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == -1)
        return MAP_FAILED;
    uintptr_t from = ((uintptr_t)room + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    void *got = (void *)syscall(SYS_mmap, from, bytes, protection, flags | MAP_FIXED, fd, offset);
    unsigned i = got == MAP_FAILED ? MAPS : count++;
    if (i < MAPS) {
        maps[i].from = from;
        maps[i].to = from + bytes;
    }
    return got;
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return mmap(at, bytes, protection, flags, fd, offset);
}

int mprotect(void *at, size_t bytes, int protection)
{
    return (int)(within_page(at) ? refuse() : syscall(SYS_mprotect, at, bytes, protection));
}

int madvise(void *at, size_t bytes, int advice)
{
    return (int)(within_page(at) ? refuse() : syscall(SYS_madvise, at, bytes, advice));
}

int munmap(void *at, size_t bytes)
{
    if (within_page(at))
        return (int)refuse();
    for (unsigned i = 0; i < count && i < MAPS; i++)
        if (maps[i].from == (uintptr_t)at)
            maps[i].to = maps[i].from;
    return (int)syscall(SYS_munmap, at, bytes);
}
