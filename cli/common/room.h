/* The user may have limited the stack (`ulimit -s 64`). The recorded program inherits that limit
 * and must keep it, but gpuprof's own functions need more: they hold paths and texts. */
#ifndef GPUPROF_CLI_COMMON_ROOM_H
#define GPUPROF_CLI_COMMON_ROOM_H

/* Calls run(argc, argv) on a stack that is large enough, whose threads get a large stack as
 * well. */
int run_on_large_stack(int (*run)(int argc, char **argv), int argc, char **argv);

#endif
