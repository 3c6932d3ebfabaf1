/* OLD_NAME(f): calls f of the C library under the version that every glibc of this machine has, so that the agent loads on
 * systems older than the one it was built on. OLD_NUMBER(f): the same for f that reads a number: headers of glibc 2.38 and
 * newer give it a name of its own in C23, where "0b1" is a number, too. */
#ifndef GPUPROF_AGENT_CORE_OLD_NAMES_H
#define GPUPROF_AGENT_CORE_OLD_NAMES_H

#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define OLD_NAME_AS(name, f) __asm__(".symver " #name "," #f "@GLIBC_2.2.5")
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OLD_NAME_AS(name, f) __asm__(".symver " #name "," #f "@GLIBC_2.17")
#else
#define OLD_NAME_AS(name, f) struct f
#endif
#define OLD_NAME(f) OLD_NAME_AS(f, f)
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 38)
#define OLD_NUMBER(f) OLD_NAME_AS(__isoc23_##f, f)
#else
#define OLD_NUMBER(f) struct f
#endif

#endif
