/* Private to verdict*.c: sentences where too little was recorded. Texts belong to the arena. */
#ifndef GPUPROF_ANALYZE_VERDICT_H
#define GPUPROF_ANALYZE_VERDICT_H

#include "analyzer/facts/analysis.h"

void verdict_not_enough(struct analysis *a, const char *verdict, const char *why, const char *next);
/* Kernels were launched but not recorded, or nothing was launched at all. */
void verdict_no_gpu_work(struct analysis *a);
/* Too many launches in the steps have no record of the GPU's work. */
bool verdict_launches_lost(struct analysis *a);
/* What of the evidence is missing, as a sentence behind the reason, or "". */
const char *verdict_missing(struct analysis *a);
/* verdict_cpu.c: of a program that computes without a GPU; the same where no step was found. */
void verdict_cpu(struct analysis *a);
void verdict_cpu_no_steps(struct analysis *a);

#endif
