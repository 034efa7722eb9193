// Shared by both units of the program that needs no library and no runtime.
#ifndef BARE_H
#define BARE_H

namespace bare {

template <typename Number> inline Number clamp(Number value, Number low, Number high) {
    if (value < low) return low;
    return value > high ? high : value;
}

inline int mix(int value) {
    value = clamp(value, -1000, 1000);
    return value * 31 + (value >> 3);
}

struct Counter {
    int count = 0;
    struct Step {
        int width;
        int apply(int value) const;
    };
    int advance(Step step) {
        count = step.apply(count);
        return mix(count);
    }
};

int twice(int value);
extern volatile int sink;

}  // namespace bare

#endif
