// Functions that both halves of the program emit; the linker keeps one of each.
#ifndef TWINS_H
#define TWINS_H

#include "shapes.h"

template <typename Number>
__attribute__((noinline)) Number twin(Number value) {
    return static_cast<Number>(mix(static_cast<int>(value)) + 1);
}

struct Pair {
    int left;
    int right;
    __attribute__((noinline)) int sum() const { return mix(left) + mix(right); }
};

int other_half(int value);

#endif
