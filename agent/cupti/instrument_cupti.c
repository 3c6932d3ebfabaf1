/* CUPTI as an instrument of the agent: the functions that the core calls (instrument.h). */
#include "agent/core/instrument.h"

#include "agent/cupti/cupti.h"

const struct instrument instrument_cupti = {
    .forget = cupti_forget,
    .start = cupti_start,
    .wake = cupti_wake_if_running,
    .step_over = cupti_step_over,
    .replaced = cupti_replaced,
    .finish = cupti_finish,
};
