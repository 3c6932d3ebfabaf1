/* Shared by the tables of names: layout conversions, tiles, and keeping names that are composed at
 * run time (a few dozen per process; the table never shrinks). */
#include "cost/names.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct convert {
    const char *f32, *f16, *bf16;
};

#define TO_NHWC(types, number)                                                                     \
    "_ZN5cudnn19engines_precompiled16nchwToNhwcKernelI" types "fLb0ELb1EL21cudnnKernelDataType_"   \
    "t" number "EEEvNS0_18nchw2nhwc_params_tIT1_EEPKT_PT0_"
#define TO_NCHW(types, number)                                                                     \
    "_ZN5cudnn19engines_precompiled16nhwcToNchwKernelI" types "fLb0ELb1EL21cudnnKernelDataType_"   \
    "t" number "EEEvNS0_18nhwc2nchw_params_tIT1_EEPKT_PT0_"

static const struct convert to_nhwc = {TO_NHWC("ff", "0"), TO_NHWC("6__halfS2_", "0"),
                                       TO_NHWC("13__nv_bfloat16S2_", "0")};
static const struct convert to_nchw = {TO_NCHW("ff", "0"), TO_NCHW("6__halfS2_", "0"),
                                       TO_NCHW("13__nv_bfloat16S2_", "0")};

static const char *of_type(const struct convert *c, enum vg_dtype t)
{
    return t == VG_F16 ? c->f16 : t == VG_BF16 ? c->bf16 : c->f32;
}

const char *vg_name_to_nhwc(enum vg_dtype t)
{
    return of_type(&to_nhwc, t);
}

const char *vg_name_to_nchw(enum vg_dtype t)
{
    return of_type(&to_nchw, t);
}

void vg_name_tile(const char *name, unsigned *m, unsigned *n)
{
    *m = *n = 128;
    for (const char *x = strchr(name, 'x'); x; x = strchr(x + 1, 'x')) {
        const char *start = x;
        while (start > name && isdigit((unsigned char)start[-1]))
            start--;
        unsigned a = 0, b = 0;
        if (sscanf(start, "%ux%u", &a, &b) == 2 && a >= 32 && b >= 32 && a <= 512 && b <= 512) {
            *m = a;
            *n = b;
            return;
        }
    }
}

void vg_name_launch(struct vg_kernel *k, const char *name, int64_t m, int64_t n, int64_t batch)
{
    unsigned tm, tn;
    vg_name_tile(name, &tm, &tn);
    k->name = name;
    k->grid[0] = (unsigned)((m + tm - 1) / tm);
    k->grid[1] = (unsigned)((n + tn - 1) / tn);
    k->grid[2] = (unsigned)(batch > 0 ? batch : 1);
    k->block[0] = tm * tn >= 128 * 128 ? 256 : 128;
    k->block[1] = k->block[2] = 1;
    k->registers = tm * tn >= 128 * 128 ? 234 : 168;
    k->smem_dynamic = (tm + tn) * 192;
}

const char *vg_name_keep(const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *kept[1024];
    static size_t count;
    const char *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !found; i++)
        if (strcmp(kept[i], text) == 0)
            found = kept[i];
    if (!found && count < sizeof kept / sizeof kept[0] && (kept[count] = strdup(text)))
        found = kept[count++];
    pthread_mutex_unlock(&lock);
    return found ? found : "gemm";
}
