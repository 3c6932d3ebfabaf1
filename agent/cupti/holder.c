/* Finds out which other tool holds CUPTI. */
#include "agent/cupti/holder.h"

#include <stdio.h>
#include <string.h>

#include "agent/core/agent.h"
#include "agent/core/resolve.h"

/* Tools by the start of a library's file name; the more specific ones first. */
static const struct sign {
    const char *stem, *tool;
} libraries[] = {
    {"libcudadebugger", "cuda-gdb"},
    {"libsanitizer-public", "compute-sanitizer"},
    {"libsanitizer-collection", "compute-sanitizer"},
    {"libTreeLauncher", "compute-sanitizer or Nsight Compute"},
    {"libcuda-injection", "Nsight Compute"},
    {"libToolsInjection", "Nsight Systems"},
    {"libInterceptorInjection", "Nsight Compute"},
    {"libparcagpu", "Parca's GPU tracer"},
    {"libproton", "Triton's Proton"},
    {"libkineto", "Kineto"},
    {"libscorep", "Score-P"},
    {"libhpcrun", "HPCToolkit"},
    {"libTAU", "TAU"},
};
static const struct sign variables[] = {
    {"NSYS_PROFILING_SESSION_ID", "Nsight Systems"},
    {"NV_COMPUTE_PROFILER_LOCAL_CONNECTION_OVERRIDE", "Nsight Compute"},
    {"NV_TPS_LAUNCH_UUID", "Nsight Compute"},
    {"KINETO_USE_DAEMON", "Kineto, started by KINETO_USE_DAEMON"},
};

void CUPTIAPI cupti_never_called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

/* The name that the subscriber gave CUPTI; unchanged if CUPTI cannot tell. */
static void asked(const struct vendor_cupti *api, char *name, size_t size)
{
    CUpti_SubscriberHandle none = NULL;
    CUpti_SubscriberParams p = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                .subscriberName = "gpuprof",
                                .oldSubscriberName = name,
                                .oldSubscriberSize = size};
    if (!api->Subscribe_v2)
        return;
    CUptiResult rc = api->Subscribe_v2(&none, cupti_never_called, NULL, &p);
    if (rc == CUPTI_SUCCESS && api->Unsubscribe)
        api->Unsubscribe(none);
}

static const char *guessed(void)
{
    char path[4096];
    for (size_t i = 0; i < AGENT_ARRAY_LEN(libraries); i++)
        if (resolve_path(libraries[i].stem, path, sizeof path) == 0)
            return libraries[i].tool;
    for (size_t i = 0; i < AGENT_ARRAY_LEN(variables); i++)
        if (agent_env(variables[i].stem))
            return variables[i].tool;
    return NULL;
}

void holder_name(const struct vendor_cupti *api, char *name, size_t size)
{
    char own[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = "";
    const char *tool = guessed(), *chained = agent_env("GPUPROF_CHAIN_INJECTION");
    asked(api, own, sizeof own - 1);
    if (tool)
        snprintf(name, size, "%s", tool);
    else if (chained && *chained)
        snprintf(name, size, "The tool that CUDA_INJECTION64_PATH names (%s)", chained);
    else if (own[0])
        snprintf(name, size, "Another profiler or debugger (%s)", own);
    else
        snprintf(name, size, "Another profiler or debugger");
}
