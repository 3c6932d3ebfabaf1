/* The open files that gpuprof was started with belong to the program. A process that reads from the
 * program's pipe, or waits for its lock, must wait for the program and not for gpuprof. */
#ifndef GPUPROF_CLI_COMMON_FILES_H
#define GPUPROF_CLI_COMMON_FILES_H

/* Remembers which files are open. Call it before any other file is opened. */
void files_remember(void);
/* Call it when the program has the files: this process closes its own. Its stdin and stdout become
 * empty; stderr stays. */
void files_close_inherited(void);

#endif
