/* Files that we were started with belong to the program: who reads from its end of a pipe, or waits
 * for its lock, waits for the program and not for us. */
#ifndef GPUPROF_CLI_COMMON_FILES_H
#define GPUPROF_CLI_COMMON_FILES_H

/* First of all: which files are there. */
void files_note(void);
/* When the program has them: this process closes its own, and reads and writes nothing instead.
 * stderr stays. */
void files_leave(void);

#endif
