// Functions that need no header and no library: inlined calls, a static, a table.
static volatile int state;
static inline __attribute__((always_inline)) int mix(int value) {
    state += value;
    return value * 31 ^ state;
}
static __attribute__((noinline)) int hidden(int value) {
    for (int i = 0; i < value; ++i) state ^= mix(i);
    return mix(value) - state;
}
int shown(int value) {
    int sum = 0;
    for (int i = 0; i < value; ++i) {
        sum += hidden(i);
        if (sum > 100) sum = mix(sum) + mix(i);
    }
    return sum;
}
__attribute__((cold)) int last(int value) { return shown(value) + hidden(value + 1); }
int main(int count, char **words) { return last(count) + (int)(words - words) + state; }
