/* Fuzzes the reader of traces from PyTorch's profiler and other programs that write its format. */
#include "tests/fuzz/fuzz.h"

#include "analyzer/import/import.h"

extern const struct importer import_kineto;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_import(&import_kineto, data, size);
}
