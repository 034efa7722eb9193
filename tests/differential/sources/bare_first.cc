// Inlined calls across two files, a function in parts, a lambda, a class in a class.
#include "bare.h"

namespace bare {

volatile int sink;

int Counter::Step::apply(int value) const { return value + clamp(width, 1, 16); }

namespace {

__attribute__((noinline, cold)) int rare(int reason) {
    sink = reason;
    return mix(reason) ^ 0x55;
}

template <int Factor> __attribute__((noinline)) int scaled(int value) {
    int sum = 0;
    for (int i = 0; i < value; ++i) {
        if (__builtin_expect(sink == 12345, 0)) {
            sum += rare(i);
            sink = sum;
        }
        sum += mix(i * Factor);
    }
    return sum;
}

}  // namespace

__attribute__((noinline)) int choose(int value) {
    auto nearest = [value](int step) { return mix(value + step) * (step | 1); };
    switch (value & 7) {
        case 0: return scaled<3>(value);
        case 1: return scaled<5>(value) + nearest(2);
        case 2: return twice(value);
        case 3: return nearest(value);
        default: return rare(value);
    }
}

}  // namespace bare

extern "C" __attribute__((noinline)) int plain_name(int value) {
    bare::Counter counter;
    return counter.advance({value}) + bare::choose(value);
}

extern "C" int start(void) {
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum += plain_name(bare::sink + i);
    return sum;
}
