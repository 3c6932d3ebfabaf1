/* Finds the call in which a library runs the training loop for the program, as `trainer.train()` does: a
 * call of the user's to a package below which a backward pass ran, and then an optimizer. The line of
 * that call says nothing of what launches. */
#include "agent/lines/lines.h"

/* A frame of the user's, and the instruction that it is in. */
struct call {
    _Atomic uint64_t frame; /* 0: not known */
    _Atomic int64_t at;
};
static struct call passes_back, runs_loop;

static bool is_call(const struct call *c, uint64_t frame, int64_t at)
{
    return atomic_load_explicit(&c->frame, memory_order_relaxed) == frame &&
           atomic_load_explicit(&c->at, memory_order_relaxed) == at;
}

static void keep_call(struct call *c, uint64_t frame, int64_t at)
{
    atomic_store_explicit(&c->frame, frame, memory_order_relaxed);
    atomic_store_explicit(&c->at, at, memory_order_relaxed);
}

bool loop_call(uint64_t frame, int64_t at, bool backward, bool optimizer)
{
    if (backward)
        keep_call(&passes_back, frame, at);
    if (optimizer && is_call(&passes_back, frame, at))
        keep_call(&runs_loop, frame, at);
    return is_call(&runs_loop, frame, at);
}
