/* Where a user names no recording: the newest profile in this folder. */
#ifndef GPUPROF_CLI_LOAD_NEWEST_H
#define GPUPROF_CLI_LOAD_NEWEST_H

/* With no operand (*argc 0) sets *argc and *argv to the profile that was last written here, or to those of all ranks of that
 * run, and says so on stderr. The words live as long as the process. 0, or 2: there is none, which one line has said. */
int newest_if_none(const char *command, int *argc, char ***argv);

#endif
