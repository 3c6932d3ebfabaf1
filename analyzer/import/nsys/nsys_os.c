/* Reads calls of the operating system's libraries (OSRT_API): when a thread
 * waited, and in which call. */
#include "analyzer/import/nsys/nsys.h"

#include <string.h>

/* True if the call waits for something or reads. */
static bool waits_or_reads(const char *name, size_t size)
{
    static const char *const names[] = {"poll",
                                        "ppoll",
                                        "select",
                                        "pselect",
                                        "epoll_wait",
                                        "epoll_pwait",
                                        "read",
                                        "pread",
                                        "pread64",
                                        "readv",
                                        "preadv",
                                        "fread",
                                        "recv",
                                        "recvfrom",
                                        "recvmsg",
                                        "sem_wait",
                                        "futex",
                                        "sem_timedwait",
                                        "sem_clockwait",
                                        "pthread_cond_wait",
                                        "pthread_cond_timedwait",
                                        "pthread_cond_clockwait"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0)
            return true;
    return false;
}

/* See nsys.h. Keeps only calls of threads that have other records as well. */
int nsys_put_os_call(struct nsys *n, struct sql_stmt *q)
{
    struct row_range r = {.depth = -1};
    size_t size;
    const char *name = nsys_text(n, nsys_known(q, 3), &size);
    int64_t tid = sql_int(q, 2);
    if (!waits_or_reads(name, size) || sql_is_null(q, 1) ||
        keymap_get(&n->thread_of, (struct key){{tid}}) == KEYMAP_NONE ||
        !nsys_span(n, q, &r.start_ns, &r.end_ns))
        return 0;
    r.id = ++n->ids[ROW_RANGE];
    r.thread = nsys_thread_id(n, tid);
    r.process = nsys_process_id(n, tid);
    r.name = nsys_string(n, nsys_known(q, 3));
    r.domain = nsys_intern(n, OS_DOMAIN);
    return r.thread < 0 ? -1 : n->out->put(n->out->self, ROW_RANGE, &r, n->e);
}
