/* Life of the agent in a process: it is loaded, asleep, recording, passive, and ends.
 *
 * Loading costs a process little: the constructor reads one variable, sets three and maps a page.
 * Most processes under `gpuprof run` (shells, compilers) do no more than that. */
#include "agent/core/agent.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/cancel.h"
#include "agent/core/clock.h"
#include "agent/core/instrument.h"
#include "agent/core/old_names.h"
#include "agent/core/spool.h"
#include "agent/core/window.h"

OLD_NAME(pthread_key_create);
OLD_NAME(pthread_setspecific);

/* FINISH_MS: how long an ordinary exit waits for each instrument. WAIT_NAPS: how many naps of 0.1
 * ms a thread takes while another thread makes the spool. */
enum { FINISH_MS = 5000, WAIT_NAPS = 500 };

/* A hook may be called before the constructor has run. It finds this page, is passive, and records
 * nothing. */
static struct agent_page before_constructor = {AGENT_PASSIVE};

struct agent agent = {.page = &before_constructor};
__thread struct thread agent_thread AGENT_TLS;

static pthread_key_t thread_key;
static _Atomic bool thread_key_made;

/* ---- environment ---- */

extern char **environ;

const char *agent_env(const char *name)
{
    size_t n = strlen(name);
    for (char **e = environ; e && *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    return NULL;
}

/* Adds "NAME=value" strings to the environment, which keeps them: they must stay valid. setenv is
 * not used, because bash has its own, which is not ready this early. */
static void env_add(char **add, size_t n)
{
    size_t have = 0;
    while (environ && environ[have])
        have++;
    size_t bytes = (have + n + 1) * sizeof *environ;
    char **grown = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED)
        return;
    memcpy(grown, environ, have * sizeof *environ);
    memcpy(grown + have, add, n * sizeof *add);
    environ = grown;
}

/* Sets a "NAME=value" string in the environment, whether or not the variable exists. Keeps
 * `text`. */
static void env_set(char *text)
{
    size_t n = (size_t)(strchr(text, '=') - text) + 1;
    for (char **e = environ; e && *e; e++)
        if (strncmp(*e, text, n) == 0) {
            *e = text;
            return;
        }
    env_add(&text, 1);
}

/* Callback of dl_iterate_phdr: stores the path from which this library was loaded. dladdr would do
 * the same, but needs libdl on older systems. */
static int find_self(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (uintptr_t)&agent >= from &&
            (uintptr_t)&agent < from + info->dlpi_phdr[i].p_memsz) {
            *(const char **)path = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

/* Writes "NAME=value" into `text`, which the caller keeps. Returns text, or NULL if it does not
 * fit. */
static char *assignment(char *text, size_t size, const char *name, const char *value)
{
    int n = snprintf(text, size, "%s=%s", name, value);
    return n > 0 && (size_t)n < size ? text : NULL;
}

/* Names this library in the variables by which CUDA and NVTX load a tool at their first use,
 * whether they are linked statically or not. A tool that the user has named there moves to a
 * variable of ours, and the agent calls it (inject.c, nvtx_chain.c). */
static void offer_injection(void)
{
    static const char *const names[][2] = {{"CUDA_INJECTION64_PATH", "GPUPROF_CHAIN_INJECTION"},
                                           {"NVTX_INJECTION64_PATH", "GPUPROF_CHAIN_NVTX"}};
    static char own[AGENT_ARRAY_LEN(names)][4096], other[AGENT_ARRAY_LEN(names)][4096];
    char here[4096] = "", path[4096];
    const char *self = NULL;
    dl_iterate_phdr(find_self, &self);
    if (!self || (self[0] != '/' && !getcwd(here, sizeof here)))
        return;
    int n = snprintf(path, sizeof path, "%s%s%s", here, here[0] ? "/" : "", self);
    if (n < 0 || (size_t)n >= sizeof path)
        return;
    for (size_t i = 0; i < AGENT_ARRAY_LEN(names); i++) {
        const char *there = agent_env(names[i][0]);
        char *set = assignment(own[i], sizeof own[i], names[i][0], path), *chain = NULL;
        if (!set || (there && strcmp(there, path) == 0))
            continue;
        if (there && *there) {
            chain = assignment(other[i], sizeof other[i], names[i][1], there);
            if (!chain)
                continue; /* its name does not fit: it stays where it is, without us */
            env_set(chain);
        }
        env_set(set);
    }
}

/* ---- fork ---- */

static void after_fork_in_child(void)
{
    atomic_store_explicit(&agent.page->word, AGENT_ASLEEP, memory_order_relaxed);
}

static struct agent_page *page_map(void)
{
    void *p = mmap(NULL, SPOOL_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    /* the kernel wipes it in a forked child; an old one cannot, then after_fork_in_child does it */
    madvise(p, SPOOL_PAGE, MADV_WIPEONFORK);
    return p;
}

__attribute__((constructor)) static void agent_load(int argc, char **argv)
{
    static char dir[sizeof agent.path];
    exec_load();
    const char *from = agent_env("GPUPROF_DIR");
    if (!from || from[0] != '/' || strlen(from) >= sizeof dir || !agent_is_first())
        return;
    struct agent_page *page = page_map();
    if (!page)
        return;
    memcpy(dir, from, strlen(from) + 1);
    agent.dir = dir;
    pthread_atfork(NULL, NULL, after_fork_in_child);
    offer_injection();
    for (size_t i = 0; i < instrument_count; i++) {
        char *text = instruments[i]->load ? instruments[i]->load(argc, argv) : NULL;
        if (text)
            env_set(text);
    }
    agent.page = page;
}

/* ---- threads ---- */

static void thread_end(void *arg)
{
    struct thread *t = arg;
    if (t->busy || t->word != atomic_load(&agent.page->word))
        return;
    t->busy = true;
    ring_close(t);
    t->word = 0; /* a hook in a later destructor opens a ring again */
    t->busy = false;
}

static void at_exit(void)
{
    instruments_at_exit();
    agent_finish(FINISH_MS, true);
}

static void wake_once(void)
{
    static _Atomic bool done;
    /* done already, also where a parent did it: a forked child inherits the key and the handler */
    if (atomic_exchange(&done, true))
        return;
    if (pthread_key_create(&thread_key, thread_end) == 0)
        atomic_store(&thread_key_made, true);
    atexit(at_exit);
}

/* A thread has waited for another one to make the spool, and gave up. Later threads do not wait. */
static _Atomic bool waited_in_vain;

/* Makes the spool of this process, if no other thread does so at this moment. Returns the page's
 * new word. */
static uint32_t wake(void)
{
    uint32_t word = AGENT_ASLEEP;
    if (!atomic_compare_exchange_strong(&agent.page->word, &word, AGENT_STARTING))
        return word;
    atomic_store(&waited_in_vain, false);
    agent.generation++;
    agent.pid = (int)getpid();
    instruments_forget();
    bool ok = agent.dir && spool_create() == 0;
    if (ok)
        window_begin();
    word = agent.generation << 2 | (ok ? AGENT_RECORDING : AGENT_PASSIVE);
    atomic_store_explicit(&agent.page->word, word, memory_order_release);
    if (ok)
        wake_once();
    return word;
}

/* Waits up to 50 ms while another thread makes the spool. After one wait in vain, the threads of
 * this process do not wait again. */
static uint32_t wait_started(void)
{
    const struct timespec nap = {.tv_nsec = 100000};
    uint32_t word = AGENT_STARTING;
    int naps = atomic_load(&waited_in_vain) ? 0 : WAIT_NAPS;
    for (int i = 0; i < naps && (word & 3) == AGENT_STARTING; i++) {
        nanosleep(&nap, NULL);
        word = atomic_load_explicit(&agent.page->word, memory_order_acquire);
    }
    if (naps && (word & 3) == AGENT_STARTING)
        atomic_store(&waited_in_vain, true);
    return word;
}

static struct thread *begin(struct thread *t, bool record)
{
    t->busy = true;
    uint32_t before = atomic_load_explicit(&agent.page->word, memory_order_acquire);
    uint32_t word = (before & 3) == AGENT_ASLEEP ? wake() : before;
    if ((word & 3) == AGENT_STARTING)
        word = wait_started();
    if ((word & 3) != AGENT_RECORDING)
        goto none;
    t->tid = (uint32_t)syscall(SYS_gettid);
    if (t->refused == word || ring_open(t) != 0) {
        t->refused = word;
        agent_count(SPOOL_NO_RING, record);
        goto none;
    }
    t->word = word;
    if (atomic_load(&thread_key_made))
        pthread_setspecific(thread_key, t);
    about_thread_name(t, t->tid, NULL);
    if ((before & 3) == AGENT_ASLEEP)
        about_process(t);
    return t;
none:
    t->busy = false;
    return NULL;
}

struct thread *agent_thread_begin(struct thread *t, bool record)
{
    int saved = errno, state = cancel_disable();
    t = begin(t, record);
    cancel_restore(state);
    errno = saved;
    return t;
}

/* ---- the end ---- */

void agent_stop(void)
{
    uint32_t word = atomic_load(&agent.page->word);
    if ((word & 3) != AGENT_RECORDING)
        return;
    atomic_store(&agent.spool->passive, 1);
    atomic_compare_exchange_strong(&agent.page->word, &word, (word & ~3u) | AGENT_PASSIVE);
}

void agent_stop_asked(void)
{
    if (!instruments_wake())
        agent_stop();
}

/* A child made by vfork shares our memory, but has another process id. It must not end its parent's
 * recording. */
void agent_finish(int timeout_ms, bool forced)
{
    if (!agent_recording() || (int)syscall(SYS_getpid) != agent.pid)
        return;
    if (instruments_finish(timeout_ms, forced))
        spool_seal();
}
