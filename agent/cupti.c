#include "agent/cupti.h"

void cupti_forget(void)
{
}

bool cupti_finish(int timeout_ms, bool forced)
{
    (void)timeout_ms;
    (void)forced;
    return true;
}
