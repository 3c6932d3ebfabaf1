/* Thresholds and assumed ranges. Each room that judges has a limits.def with one row for each:
 * LIMIT_INT(NAME, value, unit, source), LIMIT_REAL, LIMIT_SPAN(NAME, good, bad, unit, source) or
 * LIMIT_RANGE(NAME, good, likely, bad, unit, source). The source says which recordings set the
 * value, what argues for it, or who published it. Here a row becomes a constant; in a build with
 * GPUPROF_VARY it becomes a variable that bench/thresholds scales. */
#ifndef GPUPROF_LIMIT_H
#define GPUPROF_LIMIT_H

/* An unknown value: the best and the worst case for a user who follows the advice. */
struct limit_span {
    double good, bad;
};
struct limit_range { /* the same, with the most likely value */
    double good, likely, bad;
};

#ifdef GPUPROF_VARY
#define LIMIT_INT(name, value, unit, source)               extern int name;
#define LIMIT_REAL(name, value, unit, source)              extern double name;
#define LIMIT_SPAN(name, good, bad, unit, source)          extern struct limit_span name;
#define LIMIT_RANGE(name, good, likely, bad, unit, source) extern struct limit_range name;
#else
#define LIMIT_INT(name, value, unit, source)      enum { name = (value) };
#define LIMIT_REAL(name, value, unit, source)     static const double name = (value);
#define LIMIT_SPAN(name, good, bad, unit, source) static const struct limit_span name = {good, bad};
#define LIMIT_RANGE(name, good, likely, bad, unit, source)                                         \
    static const struct limit_range name = {good, likely, bad};
#endif

#endif
