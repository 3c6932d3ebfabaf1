/* Every NCCL call goes through this: a failure ends the rank with the place, the call and why. */
#ifndef DDP_NCCL_CHECK_H
#define DDP_NCCL_CHECK_H

#include <nccl.h>

#define ncclCheck(call) nccl_check((call), #call, __FILE__, __LINE__)

void nccl_check(ncclResult_t rc, const char *call, const char *file, int line);

#endif
