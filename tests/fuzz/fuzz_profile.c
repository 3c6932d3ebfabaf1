/* Fuzzes the reader of profiles: the input is the file, with SQLite's pages and our schema. */
#include "tests/fuzz/fuzz.h"

#include "analyzer/import/import.h"

extern const struct importer import_profile;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_import(&import_profile, data, size);
}
