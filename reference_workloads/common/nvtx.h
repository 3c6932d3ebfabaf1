/* NVTX ranges that can be left out at run time (--no-nvtx): a range costs nothing then, and about
 * 10 ns when no tool listens. */
#ifndef WORKLOAD_NVTX_H
#define WORKLOAD_NVTX_H

/* Call it after the settings were read: it also says which of GPUPROF_APPLY were obeyed. */
void nvtx_enable(int on);
void nvtx_push(const char *name);
void nvtx_pop(void);
void nvtx_name_thread(const char *name); /* for tools and for `ps -T`; at most 15 characters */

#endif
