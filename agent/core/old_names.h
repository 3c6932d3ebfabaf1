/* OLD_NAME(f): calls f of the C library under the version that every glibc of this machine has, so that the agent loads on
 * systems older than the one it was built on. */
#ifndef GPUPROF_AGENT_CORE_OLD_NAMES_H
#define GPUPROF_AGENT_CORE_OLD_NAMES_H

#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define OLD_NAME(f) __asm__(".symver " #f "," #f "@GLIBC_2.2.5")
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OLD_NAME(f) __asm__(".symver " #f "," #f "@GLIBC_2.17")
#else
#define OLD_NAME(f) struct f
#endif

#endif
