/* What the fuzz targets share: the input becomes a file in memory, an importer reads it into a
 * timeline, and the analysis runs over the result. No input may make any of this crash, hang or use
 * memory without bound; errors are expected and ignored. */
#ifndef GPUPROF_TESTS_FUZZ_H
#define GPUPROF_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct importer;
struct memory;
struct timeline;

int fuzz_import(const struct importer *importer, const uint8_t *data, size_t size);
/* The rows of a training loop: ten steps on two ranks, in which every table is used. */
const struct memory *fuzz_recording(void);
/* Finishes a timeline, analyses it, and writes the answer by one exporter. */
void fuzz_answer(struct timeline *t, bool predicted, size_t which);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
