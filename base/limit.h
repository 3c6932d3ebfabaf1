/* Thresholds of a room, one row each in its limits.def: LIMIT_INT(NAME, value, unit, source) or
 * LIMIT_REAL. The source says which recordings set the value, what argues for it, or who published
 * it. Here a row becomes a constant; in a build with GPUPROF_VARY a variable that bench/thresholds
 * scales. */
#ifndef GPUPROF_LIMIT_H
#define GPUPROF_LIMIT_H

#ifdef GPUPROF_VARY
#define LIMIT_INT(name, value, unit, source)  extern int name;
#define LIMIT_REAL(name, value, unit, source) extern double name;
#else
#define LIMIT_INT(name, value, unit, source)  enum { name = (value) };
#define LIMIT_REAL(name, value, unit, source) static const double name = (value);
#endif

#endif
