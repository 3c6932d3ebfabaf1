/* Survives the truncation of a mapped spool by its process. Touching a missing page raises SIGBUS;
 * the handler replaces the page by one of zeros and marks the spool. So reading needs no further
 * checks, everything read before stays valid, and the zeros are handled like any damaged spool. For
 * the one thread that collects. */
#include "analyzer/collector/spool/spool.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static struct spool_guard *guards; /* list of all mapped spools */
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

/* If the address belongs to no spool, restores the previous handler: the access is repeated
 * and has its usual effect. */
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
    sigprocmask(SIG_UNBLOCK, &bus, NULL); /* a fault while SIGBUS is blocked
                                             would kill the process */
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
