/* Calls the agent's instruments (see instrument.h). */
#include "agent/core/instrument.h"

_Atomic bool instruments_asleep;

void instruments_forget(void)
{
    for (size_t i = 0; i < instrument_count; i++)
        if (instruments[i]->forget)
            instruments[i]->forget();
}

void instruments_start(struct thread *t)
{
    for (size_t i = 0; i < instrument_count; i++)
        if (instruments[i]->start)
            instruments[i]->start(t);
}

bool instruments_wake(void)
{
    bool awake = false;
    for (size_t i = 0; i < instrument_count; i++)
        awake |= instruments[i]->wake && instruments[i]->wake();
    return awake;
}

void instruments_step_over(struct thread *t)
{
    for (size_t i = 0; i < instrument_count; i++)
        if (instruments[i]->step_over)
            instruments[i]->step_over(t);
}

void instruments_collective_begins(const struct open_range *r)
{
    for (size_t i = 0; i < instrument_count; i++)
        if (instruments[i]->collective_begins)
            instruments[i]->collective_begins(r);
}

void instruments_collective_ended(struct thread *t, const struct open_range *r, int64_t end_ns)
{
    for (size_t i = 0; i < instrument_count; i++)
        if (instruments[i]->collective_ended)
            instruments[i]->collective_ended(t, r, end_ns);
}

void instruments_replaced(void)
{
    for (size_t i = 0; i < instrument_count; i++)
        if (instruments[i]->replaced)
            instruments[i]->replaced();
}

void instruments_at_exit(void)
{
    for (size_t i = 0; i < instrument_count; i++)
        if (instruments[i]->at_exit)
            instruments[i]->at_exit();
}

bool instruments_finish(int timeout_ms, bool forced)
{
    bool done = true;
    for (size_t i = 0; i < instrument_count; i++)
        if (instruments[i]->finish)
            done &= instruments[i]->finish(timeout_ms, forced);
    return done;
}

void instruments_rouse(void)
{
    if (atomic_exchange(&instruments_asleep, false))
        instruments_wake();
}
