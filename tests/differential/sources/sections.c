static volatile int sink;
static inline __attribute__((always_inline)) int twice(int x) {
    sink += x;
    return x * 2;
}
__attribute__((noinline)) int first(int x) {
    int y = twice(x);
    for (int i = 0; i < x; ++i) {
        sink = i;
        y += twice(i) ^ sink;
    }
    return y;
}
__attribute__((noinline, cold)) int second(int x) {
    if (x > 3)
        return first(x) + twice(x + 1);
    return x;
}
static int hidden(int x) { sink = x; return sink - 1; }
int third(int x) { return hidden(x) + second(x); }
__attribute__((section(".init.text"))) int start(int x) {
    return third(x) + 7;
}
