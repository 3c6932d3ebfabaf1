/* Another CUPTI client in the program (torch.profiler's kineto) puts its own buffer callbacks in
 * our place, and turns kinds off when it is done. Neither call reports that to us: we watch for
 * them. cupti_flush.c leaves CUPTI alone in the meantime and takes it back afterwards. */
#include "agent/cupti.h"
#include "agent/preload.h"

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
    static struct hook hook = {.name = "cuptiActivityRegisterCallbacks", .library = HOOK_CUPTI};
    __typeof__(cuptiActivityRegisterCallbacks) *real =
        (__typeof__(cuptiActivityRegisterCallbacks) *)hook_real(&hook);
    if (!real)
        return CUPTI_ERROR_NOT_INITIALIZED;
    bool other = request != cupti_buffer_request && cupti_running();
    if (other && !atomic_load(&cupti.taken))
        cupti.api.ActivityFlushAll(0); /* our buffers come back to us, not to the client */
    CUptiResult rc = real(request, complete);
    if (rc == CUPTI_SUCCESS && other) {
        atomic_store(&cupti.released, false);
        atomic_store(&cupti.taken, true);
    }
    return rc;
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    static struct hook hook = {.name = "cuptiActivityDisable", .library = HOOK_CUPTI};
    __typeof__(cuptiActivityDisable) *real = (__typeof__(cuptiActivityDisable) *)hook_real(&hook);
    if (!real)
        return CUPTI_ERROR_NOT_INITIALIZED;
    CUptiResult rc = real(kind);
    if (atomic_load(&cupti.taken))
        atomic_store(&cupti.released, true);
    return rc;
}
