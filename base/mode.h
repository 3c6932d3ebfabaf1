/* The permissions of files that users get: 0666 less the umask, as any program's, or 0600 where the user asks for private
 * ones. Spools and other files of gpuprof's own are 0600 always. */
#ifndef GPUPROF_BASE_MODE_H
#define GPUPROF_BASE_MODE_H

#include <stdbool.h>
#include <sys/types.h>

/* For the whole process, before it starts a thread: --private. */
void mode_set_private(bool yes);
/* To pass to open(2), which takes the umask off. 0600 with --private or where GPUPROF_PRIVATE is set to anything but 0. */
mode_t mode_of_output(void);

#endif
