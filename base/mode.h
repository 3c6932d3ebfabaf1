/* Permissions of the files that users get: 0666 less the umask, as for any program, or 0600 if the
 * user wants private files. Spools and gpuprof's other own files are always 0600. */
#ifndef GPUPROF_BASE_MODE_H
#define GPUPROF_BASE_MODE_H

#include <stdbool.h>
#include <sys/types.h>

/* --private: for the whole process. Call it before the first thread starts. */
void mode_set_private(bool yes);
/* The mode to pass to open(2), which applies the umask: 0600 with --private, or if GPUPROF_PRIVATE
 * is set to anything but 0; else 0666. */
mode_t mode_of_output(void);

#endif
