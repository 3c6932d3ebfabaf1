/* Lines of the virtual GPU's data files: `key = value ; provenance, source`; `#` begins a comment.
 * profile.c and cost_kernels.c use it. It reports the first fault in one line and stops. */
#ifndef VGPU_INI_H
#define VGPU_INI_H

#include "core/core.h"

#include <stdio.h>

struct ini {
    FILE *file;
    const char *path;
    int line;
    char text[1024];
    char *key, *value, *source; /* point into text, until the next line */
    enum vg_provenance provenance;
    char *why;
    size_t why_size;
};

int ini_open(struct ini *in, const char *path, char *why, size_t n);
int ini_next(struct ini *in); /* 1: a line; 0: the end; -1: a fault, described in `why` */
void ini_close(struct ini *in);
/* Writes "PATH:LINE: text" into why. Returns -1. */
int ini_fault(const struct ini *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Reads "12.5 GB/s" as 12.5 and "GB/s". -1 unless there are exactly one number and one unit. */
int ini_number(const char *text, double *value, char *unit, size_t unit_size);

#endif
