/* A user may have limited the stack (`ulimit -s 64`), which the program that we record inherits and
 * must keep. Our own functions want more: they hold paths and texts. */
#ifndef GPUPROF_CLI_COMMON_ROOM_H
#define GPUPROF_CLI_COMMON_ROOM_H

/* run(argc, argv), on a stack that is large enough for it, with threads that have one, too. */
int room_for(int (*run)(int argc, char **argv), int argc, char **argv);

#endif
