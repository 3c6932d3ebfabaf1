/* Reads memory of another process page by page: see memory.h. */
#include "analyzer/pyframes/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

void memory_open(struct memory *m, pid_t pid)
{
    m->pid = pid;
    m->error = 0;
    m->round = 1;
    for (int i = 0; i < MEMORY_PAGES; i++)
        m->page[i].round = 0;
}

void memory_forget(struct memory *m)
{
    m->round++;
}

static const uint8_t *page_at(struct memory *m, uint64_t address)
{
    size_t slot = (size_t)(address / MEMORY_PAGE * 0x9e3779b97f4a7c15u >> 58) % MEMORY_PAGES;
    if (m->page[slot].round == m->round && m->page[slot].address == address)
        return m->page[slot].bytes;
    struct iovec own = {m->page[slot].bytes, MEMORY_PAGE};
    struct iovec other = {(void *)(uintptr_t)address, MEMORY_PAGE};
    m->page[slot].round = 0;
    if (process_vm_readv(m->pid, &own, 1, &other, 1, 0) != MEMORY_PAGE) {
        m->error = errno;
        return NULL;
    }
    m->page[slot].address = address;
    m->page[slot].round = m->round;
    return m->page[slot].bytes;
}

bool memory_read(struct memory *m, uint64_t address, void *to, size_t n)
{
    if (address < MEMORY_PAGE || address + n < address)
        return false;
    for (size_t done = 0; done < n;) {
        uint64_t at = address + done, page = at & ~(uint64_t)(MEMORY_PAGE - 1);
        size_t part = MEMORY_PAGE - (size_t)(at - page);
        const uint8_t *bytes = page_at(m, page);
        if (!bytes)
            return false;
        if (part > n - done)
            part = n - done;
        memcpy((uint8_t *)to + done, bytes + (at - page), part);
        done += part;
    }
    return true;
}
