/* The Chrome trace in the form of PyTorch's profiler: one event a line, times in microseconds with three decimals. The writer
 * of trace_chrome is a struct json inside an open array of events. */
#ifndef GPUPROF_REPORT_TRACE_TRACE_CHROME_H
#define GPUPROF_REPORT_TRACE_TRACE_CHROME_H

#include "report/trace/trace.h"

extern const struct trace_format trace_chrome;

#endif
