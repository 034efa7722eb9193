// gsym_reader.cc - LLVM's reader of GSYM files behind a C interface, for engine_lookups.c.
#include <llvm/DebugInfo/GSYM/GsymReader.h>

using llvm::gsym::GsymReader;

extern "C" void *reader_open(const char *path) {
    llvm::Expected<GsymReader> opened = GsymReader::openFile(path);
    if (!opened) {
        llvm::consumeError(opened.takeError());
        return nullptr;
    }
    return new GsymReader(std::move(*opened));
}

// The number of frames; their names and paths are views of the file.
extern "C" size_t reader_lookup(void *reader, uint64_t address) {
    llvm::Expected<llvm::gsym::LookupResult> found =
        static_cast<GsymReader *>(reader)->lookup(address);
    if (!found) {
        llvm::consumeError(found.takeError());
        return 0;
    }
    return found->Locations.size();
}

extern "C" void reader_close(void *reader) { delete static_cast<GsymReader *>(reader); }
