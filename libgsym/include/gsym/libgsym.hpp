// libgsym.hpp - C++ classes for the objects of libgsym.h, with destructors and exceptions.
//
// Needs C++11. Nothing but libgsym has to be linked. What libgsym.h says of strings and
// threads holds here; an object that was moved from can only be assigned or destroyed.
#ifndef GSYM_LIBGSYM_HPP
#define GSYM_LIBGSYM_HPP

#include <gsym/libgsym.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace gsym {

// An error of libgsym; what() is "PATH: REASON at offset OFFSET".
class error : public std::runtime_error {
public:
    explicit error(const gsym_error &from)
        : std::runtime_error(text_of(from)), status_(from.status), offset_(from.offset) {}
    gsym_status status() const noexcept { return status_; }
    // The offset in the file, in bytes; errno for GSYM_E_SYSTEM.
    std::uint64_t offset() const noexcept { return offset_; }

private:
    static std::string text_of(const gsym_error &from) {
        std::string text = from.path == nullptr ? "" : std::string(from.path) + ": ";
        text += from.what;
        if (from.status == GSYM_E_FORMAT || from.status == GSYM_E_UNSUPPORTED)
            text += " at offset " + std::to_string(from.offset);
        return text;
    }

    gsym_status status_;
    std::uint64_t offset_;
};

// Throw unless `status` is GSYM_OK; std::bad_alloc if memory is short.
inline void check(gsym_status status, const gsym_error &from) {
    if (status == GSYM_E_NO_MEMORY) throw std::bad_alloc();
    if (status != GSYM_OK) throw error(from);
}

// Frees an object of libgsym with its function for that.
template <typename T, void (*Free)(T *)> struct deleter {
    void operator()(T *object) const noexcept { Free(object); }
};
template <typename T, void (*Free)(T *)>
using handle = std::unique_ptr<T, deleter<T, Free>>;

// The frames of many addresses, each innermost first.
class answers {
public:
    class frames {
    public:
        frames(const gsym_location *first, std::size_t count) : first_(first), count_(count) {}
        const gsym_location *begin() const noexcept { return first_; }
        const gsym_location *end() const noexcept { return first_ + count_; }
        std::size_t size() const noexcept { return count_; }
        bool empty() const noexcept { return count_ == 0; }

    private:
        const gsym_location *first_;
        std::size_t count_;
    };

    explicit answers(gsym_answers *owned) : answers_(owned) {}
    // The frames of address number `index`; empty if no function covers it.
    frames operator[](std::size_t index) const {
        std::size_t count;
        const gsym_location *first = gsym_answers_at(answers_.get(), index, &count);
        return frames(first, count);
    }
    std::uint64_t damaged() const noexcept { return gsym_answers_damaged(answers_.get()); }

private:
    handle<gsym_answers, gsym_answers_destroy> answers_;
};

// An open file; const functions may run in several threads.
class file {
public:
    explicit file(const std::string &path) {
        gsym_error error;
        gsym_file *opened = nullptr;
        check(gsym_file_open(path.c_str(), &opened, &error), error);
        file_.reset(opened);
    }
    // Open a file in memory; the bytes must outlive this object.
    file(const void *bytes, std::size_t size) {
        gsym_error error;
        gsym_file *opened = nullptr;
        check(gsym_file_open_memory(bytes, size, &opened, &error), error);
        file_.reset(opened);
    }

    const gsym_file *get() const noexcept { return file_.get(); }
    std::uint64_t base_address() const noexcept { return gsym_file_base_address(get()); }
    std::uint32_t entry_count() const noexcept { return gsym_file_entry_count(get()); }
    std::vector<std::uint8_t> uuid() const {
        std::size_t size;
        const std::uint8_t *bytes = gsym_file_uuid(get(), &size);
        return std::vector<std::uint8_t>(bytes, bytes + size);
    }

    // The frames at `address`, innermost first; empty if no function covers it.
    std::vector<gsym_location> lookup(std::uint64_t address) const {
        std::vector<gsym_location> frames;
        lookup(address, frames);
        return frames;
    }
    // Store the frames at `address` in `frames`, whose memory is used again.
    void lookup(std::uint64_t address, std::vector<gsym_location> &frames) const {
        fill(frames, [&](gsym_location *into, std::size_t capacity, std::size_t *count,
                         gsym_error *error) {
            return gsym_file_lookup(get(), address, into, capacity, count, nullptr, error);
        });
    }
    answers lookup_many(const std::vector<std::uint64_t> &addresses) const {
        gsym_error error;
        gsym_answers *found = nullptr;
        check(gsym_file_lookup_many(get(), addresses.data(), addresses.size(), &found, &error),
              error);
        return answers(found);
    }
    // The functions called `name`.
    std::vector<gsym_symbol> find(const std::string &name) const {
        std::vector<gsym_symbol> symbols;
        fill(symbols, [&](gsym_symbol *into, std::size_t capacity, std::size_t *count,
                          gsym_error *error) {
            return gsym_file_find(get(), name.c_str(), into, capacity, count, error);
        });
        return symbols;
    }
    // The functions of an entry.
    std::vector<gsym_symbol> symbols(std::uint32_t entry) const {
        std::vector<gsym_symbol> symbols;
        fill(symbols, [&](gsym_symbol *into, std::size_t capacity, std::size_t *count,
                          gsym_error *error) {
            return gsym_file_symbols(get(), entry, into, capacity, count, error);
        });
        return symbols;
    }

private:
    // Call again if the first call had too little room.
    template <typename T, typename Call> static void fill(std::vector<T> &items, Call call) {
        gsym_error error;
        std::size_t count = 0, capacity;
        items.resize(items.capacity() < 16 ? 16 : items.capacity());
        do {
            capacity = items.size();
            check(call(items.data(), capacity, &count, &error), error);
            items.resize(count);
        } while (count > capacity);
    }

    handle<gsym_file, gsym_file_close> file_;
};

// Decodes functions, one after the other.
class decoder {
public:
    decoder() {
        gsym_error error;
        gsym_decoder *created = nullptr;
        check(gsym_decoder_create(&created, &error), error);
        decoder_.reset(created);
    }
    // The result is valid until the next call.
    const gsym_function_info &read(const file &from, std::uint32_t entry) {
        gsym_error error;
        const gsym_function_info *info = nullptr;
        check(gsym_decoder_read(decoder_.get(), from.get(), entry, &info, &error), error);
        return *info;
    }

private:
    handle<gsym_decoder, gsym_decoder_destroy> decoder_;
};

// Collects functions and writes them.
class writer {
public:
    explicit writer(const gsym_writer_options &options = gsym_writer_options()) {
        gsym_error error;
        gsym_writer *created = nullptr;
        check(gsym_writer_create(&options, &created, &error), error);
        writer_.reset(created);
    }
    void add(const gsym_function_info &info) {
        gsym_error error;
        check(gsym_writer_add(writer_.get(), &info, &error), error);
    }
    void add(const file &from) {
        gsym_error error;
        check(gsym_writer_add_file(writer_.get(), from.get(), &error), error);
    }
    void save(const std::string &path) {
        gsym_error error;
        check(gsym_writer_save(writer_.get(), path.c_str(), &error), error);
    }

private:
    handle<gsym_writer, gsym_writer_destroy> writer_;
};

inline gsym_convert_report
convert(const std::string &input, const std::string &output,
        const gsym_convert_options &options = gsym_convert_options()) {
    gsym_error error;
    gsym_convert_report report;
    check(gsym_convert(input.c_str(), output.c_str(), &options, &report, &error), error);
    return report;
}

} // namespace gsym

#endif
