/* Inlined into both programs from a second file. */
#ifndef SHAPES_H
#define SHAPES_H

static inline int clamp(int value, int low, int high) {
    if (value < low) return low;
    return value > high ? high : value;
}

static inline int mix(int value) {
    value = clamp(value, -1000, 1000);
    return value * 31 + (value >> 3);
}

#endif
