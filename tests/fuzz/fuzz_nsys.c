/* Fuzzes the reader of Nsight Systems' exports. */
#include "tests/fuzz/fuzz.h"

#include "analyzer/import/import.h"

extern const struct importer import_nsys;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_import(&import_nsys, data, size);
}
