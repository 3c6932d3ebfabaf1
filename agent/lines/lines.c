/* What a launching thread writes: the line that launches, if it differs from that of the thread's
 * previous launch. */
#include "agent/lines/lines.h"

#include <errno.h>

#include "agent/core/clock.h"
#include "agent/core/window.h"

/* Records in one stretch at most, which is 10 MB: a program without steps is in one stretch all the
 * time. */
enum { MOST_RECORDS = 200000 };

_Atomic bool lines_are_on;

static struct {
    bool ready;
    _Atomic uint32_t stretch; /* number of the present one, from 1 */
    int64_t began_ns;
    _Atomic uint32_t written;      /* records in this stretch */
    _Atomic uint32_t backward_tid; /* of the thread inside backward(); 0: no thread is */
    struct line backward;          /* the line that calls backward() */
} g;

bool lines_ready(void)
{
    return g.ready;
}

void lines_begin(void)
{
    g.ready = true;
    frames_begin();
    modules_begin();
    g.began_ns = clock_now_ns();
    atomic_store(&g.written, 0);
    atomic_fetch_add(&g.stretch, 1);
    atomic_store(&lines_are_on, true);
}

/* In a forked child: drops what the parent has recorded, and keeps what is known of its Python. */
void lines_forget(void)
{
    atomic_store(&lines_are_on, false);
    atomic_store(&g.backward_tid, 0);
    frames_forget();
    modules_forget();
    autograd_forget();
    if (g.ready)
        lines_begin();
}

static void record(struct thread *t, const struct line *line, enum spool_line what, int64_t from_ns,
                   int64_t to_ns)
{
    struct spool_rec_line *r = ring_reserve(t, SPOOL_REC_LINE, sizeof *r);
    if (!r)
        return;
    r->head.start_ns = from_ns;
    r->head.end_ns = to_ns;
    r->file = line->file;
    r->function = line->function;
    r->line = line->number;
    r->module = line->module;
    r->what = (uint16_t)what;
    r->stretch = atomic_load_explicit(&g.stretch, memory_order_relaxed);
    ring_commit(t);
}

void lines_end(struct thread *t)
{
    static const struct line none;
    if (atomic_exchange(&lines_are_on, false))
        record(t, &none, SPOOL_LINE_STRETCH, g.began_ns, clock_now_ns());
}

/* ---- a launch ---- */

static struct line line_of(struct thread_line *seen, const struct frame_place *p)
{
    if (seen->code != p->code || seen->at != p->at || seen->place_function != p->function) {
        seen->code = p->code;
        seen->at = p->at;
        seen->place_function = p->function;
        seen->place_line = frames_line(p);
    }
    return (struct line){p->file, p->function, p->module, seen->place_line};
}

/* Notes this launch's line for the nodes made since the thread's previous launch. */
static void keep_nodes(struct thread_line *seen, const struct line *line)
{
    uint64_t next = autograd_next();
    if (next > seen->next_node)
        autograd_keep(seen->next_node && next - seen->next_node < 1024 ? seen->next_node : next - 1,
                      next, line);
    seen->next_node = next;
}

/* Finds the line of a launch, and says whose it is: the launching code's own, the forward call's
 * that a backward pass goes back through, or the line that calls backward(). */
static enum spool_line find(struct thread *t, struct thread_line *seen, struct line *line)
{
    struct frame_place place;
    uint32_t backward = atomic_load_explicit(&g.backward_tid, memory_order_acquire);
    bool own = frames_find(&place, false);
    if (own && backward != t->tid) {
        *line = line_of(seen, &place);
        keep_nodes(seen, line);
        return SPOOL_LINE_OWN;
    }
    bool unused = false;
    if (autograd_find(line, &unused))
        return unused ? SPOOL_LINE_UNUSED : SPOOL_LINE_FORWARD;
    if (backward) {
        *line = g.backward;
        return SPOOL_LINE_BACKWARD;
    }
    return SPOOL_LINE_NONE;
}

static void look(struct thread *t)
{
    struct thread_line *seen = &t->block->line;
    struct line line = {0};
    uint32_t stretch = atomic_load_explicit(&g.stretch, memory_order_relaxed);
    if (seen->stretch != stretch)
        seen->next_node = 0;
    enum spool_line what = find(t, seen, &line);
    if (seen->stretch == stretch && seen->what == what && seen->file == line.file &&
        seen->function == line.function && seen->line == line.number && seen->module == line.module)
        return;
    seen->stretch = stretch;
    seen->what = (uint16_t)what;
    seen->file = line.file;
    seen->function = line.function;
    seen->line = line.number;
    seen->module = line.module;
    int64_t now_ns = clock_now_ns();
    record(t, &line, what, now_ns, now_ns);
    if (atomic_fetch_add_explicit(&g.written, 1, memory_order_relaxed) == MOST_RECORDS)
        lines_end(t);
}

void lines_look(void)
{
    int saved = errno;
    struct thread *t = thread_enter();
    if (!t)
        return;
    if (!window_closed())
        look(t);
    thread_leave(t);
    errno = saved;
}

void lines_backward(bool begins)
{
    struct frame_place place;
    if (!begins) {
        atomic_store(&g.backward_tid, 0);
        return;
    }
    if (!atomic_load(&lines_are_on))
        return;
    struct thread *t = thread_enter();
    if (!t)
        return;
    if (frames_find(&place, true)) {
        g.backward = (struct line){place.file, place.function, place.module, frames_line(&place)};
        atomic_store_explicit(&g.backward_tid, t->tid, memory_order_release);
    }
    thread_leave(t);
}
