/* What a command reads if the user names no recording: the newest profile in this folder. */
#ifndef GPUPROF_CLI_LOAD_NEWEST_H
#define GPUPROF_CLI_LOAD_NEWEST_H

/* Without an operand (*argc 0), sets *argc and *argv to the newest profile here, or to those of all
 * ranks of its run, and prints that on stderr. The words stay valid until the process ends. Returns
 * 0, or 2 if there is none, which it has printed. */
int newest_if_none(const char *command, int *argc, char ***argv);

#endif
