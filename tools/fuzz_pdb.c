/* fuzz_pdb.c - libFuzzer target: bytes that claim to be a PDB.
 *
 * Converts them as gsym/conversion/inputs/pdb.py does, and demands that the file can be
 * decoded whole. tools/fuzz.sh builds and runs this under sanitizers. */
#include "fuzz_output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void convert(gsym_pdb *pdb, uint32_t version, uint32_t threads) {
    gsym_creator_options made = {.version = version, .has_base_address = 1};
    gsym_conversion_options options = {.thread_count = threads};
    gsym_creator *creator = NULL;
    gsym_conversion *conversion = NULL;
    gsym_creator_report report;
    gsym_error error;
    if (succeeds(gsym_creator_create(&made, &creator, &error)) &&
        succeeds(gsym_conversion_create(creator, &options, &conversion, &error)) &&
        gsym_conversion_set_pdb(conversion, pdb, 0x140000000, &error) == GSYM_OK &&
        work_together(conversion, threads) == GSYM_OK &&
        gsym_conversion_collect(conversion, &error) == GSYM_OK &&
        gsym_conversion_add_pdb_publics(conversion, &error) == GSYM_OK &&
        gsym_creator_finish(creator, &report, &error) == GSYM_OK) {
        size_t file_size;
        uint8_t *file = read_finished(creator, &file_size);
        decode_whole(file, file_size);
        free(file);
    }
    gsym_conversion_destroy(conversion);
    gsym_creator_destroy(creator);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gsym_pdb *pdb;
    gsym_error error;
    if (gsym_pdb_open(data, size, 0, &pdb, &error) != GSYM_OK) return 0;
    convert(pdb, 1 + (uint32_t)(size & 1), size & 2 ? FUZZ_THREADS : 1);
    gsym_pdb_close(pdb);
    return 0;
}
