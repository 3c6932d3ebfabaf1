/* Redirects a function. A function may be as short as six bytes, so its start gets a jump of five
 * bytes to memory within 32-bit reach, which holds the long jump. */
#include "reach/reach.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { PAGE = 64 << 10, LONG_JUMP = 16, SHORT_JUMP = 5 };

static struct pad {
    unsigned char *at;
    size_t used;
} pad;

static bool near(const unsigned char *from, const unsigned char *to)
{
    int64_t far = to - from;
    return far > -0x7fff0000 && far < 0x7fff0000;
}

/* Finds room for a long jump within reach of `from`; NULL: there is none. */
static unsigned char *room(const unsigned char *from)
{
    if (pad.at && pad.used + LONG_JUMP <= PAGE && near(from, pad.at))
        return pad.at + pad.used;
    for (uintptr_t step = 16 << 20; step < 0x70000000; step += 16 << 20)
        for (int side = -1; side <= 1; side += 2) {
            uintptr_t want = ((uintptr_t)from & ~(uintptr_t)(PAGE - 1)) + (uintptr_t)side * step;
            void *got = mmap((void *)want, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (got == MAP_FAILED)
                return NULL;
            if (near(from, got)) {
                pad = (struct pad){got, 0};
                return got;
            }
            munmap(got, PAGE);
        }
    return NULL;
}

int jump_write(void *from, const void *to)
{
    unsigned char *f = from, *way = room(f);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)f & ~(page - 1));
    size_t length = ((uintptr_t)f + SHORT_JUMP - (uintptr_t)start + page - 1) & ~(page - 1);
    if (!way || mprotect(start, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return -1;
    memcpy(way, "\xff\x25\0\0\0\0", 6); /* jmp *0(%rip) */
    memcpy(way + 6, &to, sizeof to);
    pad.used += LONG_JUMP;
    int32_t distance = (int32_t)(way - (f + SHORT_JUMP));
    f[0] = 0xe9; /* jmp */
    memcpy(f + 1, &distance, sizeof distance);
    mprotect(start, length, PROT_READ | PROT_EXEC);
    return 0;
}
#else
int jump_write(void *from, const void *to)
{
    (void)from, (void)to;
    return -1;
}
#endif
