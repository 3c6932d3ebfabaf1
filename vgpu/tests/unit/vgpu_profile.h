/* Reads a device's profile of the virtual GPU for a test. */
#ifndef GPUPROF_TESTS_VGPU_PROFILE_H
#define GPUPROF_TESTS_VGPU_PROFILE_H

#include "cost/names.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROFILES TEST_SOURCE_DIR "/profiles/"

static inline struct vg_profile load(const char *model)
{
    struct vg_profile p;
    char path[512], why[512] = "";
    snprintf(path, sizeof path, PROFILES "%s.ini", model);
    ck_assert_msg(vg_profile_read(PROFILES "all/common.ini", path, &p, why, sizeof why) == 0, "%s",
                  why);
    return p;
}

#endif
