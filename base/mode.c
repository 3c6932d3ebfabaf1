/* Permissions of the files that users get (mode.h). */
#include "base/mode.h"

#include <stdlib.h>
#include <string.h>

static bool private_files;

void mode_set_private(bool yes)
{
    private_files = yes;
}

mode_t mode_of_output(void)
{
    const char *set = getenv("GPUPROF_PRIVATE");
    return private_files || (set && *set && strcmp(set, "0") != 0) ? 0600 : 0666;
}
