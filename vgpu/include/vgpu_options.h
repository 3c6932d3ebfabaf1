/* The environment variable by which `gpuprof run` chooses the virtual GPU:
 * GPUPROF_VGPU=MODEL[,key=value...]. Recorder and virtual GPU both check it with the list of keys
 * here; core/core.h and shims/cupti/shim_cupti.h say what each key does. */
#ifndef VGPU_OPTIONS_H
#define VGPU_OPTIONS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { VGPU_MOST_DEVICES = 16 };

/* Finds the first option in `text` (MODEL[,key=value...]) whose key is unknown or whose value is
 * not the number that it must be. Returns the option and sets *length; NULL: all options are
 * valid. */
static inline const char *vgpu_options_wrong(const char *text, size_t *length)
{
    static const char *const keys[] = {"devices",
                                       "seed",
                                       "noise",
                                       "scale",
                                       "copy",
                                       "own_work",
                                       "connect",
                                       "throttle",
                                       "throttle_from",
                                       "throttle_for",
                                       "cupti",
                                       "drop",
                                       "late",
                                       "slow_return",
                                       "switch_loss",
                                       "disorder",
                                       "untimed_after",
                                       "clock_step",
                                       "busy_subscriber",
                                       "one_subscriber",
                                       "no_second_kernels",
                                       "steal_callbacks_after",
                                       "kernels_off_after",
                                       "null_buffer_crash",
                                       "copies_off_crash",
                                       "wrap_correlation",
                                       "driver_records"};
    for (const char *p = strchr(text, ','); p; p = strchr(p, ',')) {
        size_t n = strcspn(++p, "=,"), i = 0, count = sizeof keys / sizeof *keys;
        while (i < count && (strlen(keys[i]) != n || strncmp(keys[i], p, n) != 0))
            i++;
        char *end = NULL;
        if (i < count && p[n] == '=')
            strtod(p + n + 1, &end);
        bool number = end && end > p + n + 1 && (*end == ',' || *end == 0 || *end == ':');
        long devices = number && i == 0 ? strtol(p + n + 1, NULL, 10) : 1;
        if (!number || devices < 1 || devices > VGPU_MOST_DEVICES) {
            *length = strcspn(p, ",");
            return p;
        }
    }
    return NULL;
}

#endif
