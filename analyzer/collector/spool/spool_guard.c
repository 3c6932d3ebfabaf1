/* A spool is mapped while its process may cut the file short. Touching what is gone then raises
 * SIGBUS; here such a page is replaced by one of zeros, and the spool remembers it. So reading
 * costs nothing more, everything that was read before stays, and the zeros are taken for what any
 * damaged spool may hold. Of use to the one thread that collects. */
#include "analyzer/collector/spool/spool.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static struct spool_guard *guards; /* those of all mapped spools */
static struct sigaction before;
static uintptr_t page;

static bool replace(uintptr_t at)
{
    for (struct spool_guard *g = guards; g; g = g->next) {
        if (at - g->start >= g->size)
            continue;
        g->cut = true;
        void *from = (char *)g->map + (at - g->start) / page * page;
        return mmap(from, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                    0) != MAP_FAILED;
    }
    return false;
}

/* Another's fault happens again when this returns, and is then what it would have been. */
static void on_bus_error(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (!replace((uintptr_t)info->si_addr))
        sigaction(signal, &before, NULL);
}

void spool_guard_begin(struct spool_guard *g, void *map, size_t size)
{
    struct sigaction now,
        ours = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigset_t bus;
    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    *g = (struct spool_guard){map, (uintptr_t)map, size, guards, false};
    guards = g;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    sigprocmask(SIG_UNBLOCK, &bus, NULL); /* where it is blocked, a fault kills */
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction != on_bus_error) {
        before = now;
        sigaction(SIGBUS, &ours, NULL);
    }
}

void spool_guard_end(struct spool_guard *g)
{
    for (struct spool_guard **at = &guards; *at; at = &(*at)->next)
        if (*at == g) {
            *at = g->next;
            return;
        }
}
