/* Hides what shows whose machine a text comes from: folders, the user's name, the host's name. */
#ifndef GPUPROF_BASE_IDENTITY_H
#define GPUPROF_BASE_IDENTITY_H

#include <stddef.h>

/* 1: *out is a malloc'ed copy, *out_n bytes and a NUL, in which only the last part is left of each
 * absolute path (`.../train.py`), and *** stands for the names of this user and host. 0: nothing to
 * hide. -1: out of memory. */
int identity_hide(const char *s, size_t n, char **out, size_t *out_n);

/* Writes a command without its arguments: "/usr/bin/python3 train.py --lr 1" -> "python3 (arguments
 * hidden)". */
void identity_program(const char *command, char *out, size_t size);

#endif
