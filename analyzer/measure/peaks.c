/* Finds a device's peak in the table. */
#include "analyzer/measure/peaks.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PEAK(device, fp64, fp32, tf32, bits16, bits8, source)                                      \
    {device, {fp64, fp32, tf32, bits16, bits8}, source},

static const struct peak peaks[] = {
#include "analyzer/measure/peaks.def"
};

/* True if `part` is a word of `name`, so that "T4" is not found in "T400". */
static bool has_word(const char *name, const char *part)
{
    size_t n = strlen(part);
    for (const char *s = name; (s = strstr(s, part)) != NULL; s++)
        if ((s == name || !isalnum((unsigned char)s[-1])) && !isalnum((unsigned char)s[n]))
            return true;
    return false;
}

const struct peak *peak_of(const char *device)
{
    for (size_t i = 0; device && i < sizeof peaks / sizeof *peaks; i++)
        if (has_word(device, peaks[i].device))
            return &peaks[i];
    return NULL;
}

const char *peak_type_text(enum peak_type type)
{
    static const char *const text[PEAK_TYPES] = {[PEAK_FP64] = "FP64",
                                                 [PEAK_FP32] = "FP32",
                                                 [PEAK_TF32] = "TF32",
                                                 [PEAK_16_BITS] = "16 bits",
                                                 [PEAK_8_BITS] = "8 bits"};
    return text[type];
}
