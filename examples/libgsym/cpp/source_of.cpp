// source_of.cpp - the same as c/source_of.c, with the classes of libgsym.hpp; names are
// demangled by the C++ runtime, but for `list`.
//
//   c++ -std=c++11 source_of.cpp -o source_of $(pkg-config --cflags --libs libgsym)
#include <gsym/libgsym.hpp>

#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <iostream>

static std::string demangled(const char *name) {
    int status = 0;
    std::unique_ptr<char, void (*)(void *)> text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return text ? text.get() : name;
}

static void look_up(const gsym::file &file, const std::vector<std::uint64_t> &addresses) {
    const gsym::answers answers = file.lookup_many(addresses);
    for (std::size_t i = 0; i < addresses.size(); i++) {
        std::cout << "0x" << std::hex << addresses[i] << '\n';
        if (answers[i].empty()) std::cout << "  ??\n";
        for (const gsym_location &frame : answers[i]) {
            const std::string directory(frame.directory);
            std::cout << "  " << demangled(frame.function) << "+0x" << std::hex << frame.offset;
            if (*frame.filename != '\0')
                std::cout << ' ' << directory << (directory.empty() ? "" : "/")
                          << frame.filename << ':' << std::dec << frame.line;
            std::cout << (frame.inlined ? " (inlined)\n" : "\n");
        }
    }
}

static void print(const std::vector<gsym_symbol> &symbols) {
    for (const gsym_symbol &symbol : symbols)
        std::cout << "0x" << std::hex << symbol.address << ' ' << std::dec << symbol.size << ' '
                  << symbol.name << '\n';
}

static int run(const std::vector<std::string> &words) {
    if (words.size() == 3 && words[0] == "convert") {
        const gsym_convert_report report = gsym::convert(words[1], words[2]);
        std::cout << report.functions << " functions, " << report.file_size << " bytes\n";
        return 0;
    }
    if (words.size() < 2) {
        std::cerr << "usage: source_of convert|lookup|find|list FILE ...\n";
        return 2;
    }
    const gsym::file file(words[1]);
    const std::vector<std::string> rest(words.begin() + 2, words.end());
    std::vector<std::uint64_t> addresses;
    if (words[0] == "list")
        for (std::uint32_t entry = 0; entry < file.entry_count(); entry++)
            print(file.symbols(entry));
    for (const std::string &word : rest) {
        if (words[0] == "find") print(file.find(word));
        if (words[0] == "lookup") addresses.push_back(std::stoull(word, nullptr, 16));
    }
    look_up(file, addresses);
    return 0;
}

int main(int count, char **words) {
    try {
        return run(std::vector<std::string>(words + 1, words + count));
    } catch (const std::exception &error) {
        std::cerr << "source_of: " << error.what() << '\n';
        return 1;
    }
}
