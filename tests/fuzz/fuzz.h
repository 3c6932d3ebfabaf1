/* What the fuzz targets share: the input becomes a file in memory, an importer reads it into a
 * timeline, and the analysis runs over the result. No input may make any of this crash, hang or use
 * memory without bound; errors are expected and ignored. */
#ifndef GPUPROF_TESTS_FUZZ_H
#define GPUPROF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

struct importer;
int fuzz_import(const struct importer *importer, const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
