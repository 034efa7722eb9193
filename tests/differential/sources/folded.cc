// Functions of equal code, which compilers and linkers fold, and thunks.
volatile int state;

int first(int value) { return value * 3 + state; }
int second(int value) { return value * 3 + state; }
static __attribute__((noinline)) int third(int value) { return value * 3 + state; }

struct Base {
    int held = 2;
    virtual int get(int value) { return first(value) + held; }
    virtual ~Base() {}
};
struct Other {
    int other = 3;
    virtual int name(int value) { return second(value) + other; }
    virtual ~Other() {}
};
struct Shared : virtual Base {
    int get(int value) override { return third(value) - held; }
};
struct Both : Shared, Other {
    int get(int value) override { return third(value) + held; }
    int name(int value) override { return third(value) - other; }
};

template <typename Number> __attribute__((noinline)) Number kept(Number value) {
    return value + static_cast<Number>(state);
}

__attribute__((cold, noinline)) int seldom(int value) {
    return kept<long>(value) + kept<long long>(value);
}

int main(int argc, char **) {
    Both both;
    Base *base = &both;
    Other *other = &both;
    int sum = base->get(argc) + other->name(argc) + first(argc) + second(argc);
    if (__builtin_expect(sum == state, 0)) sum += seldom(argc);
    return sum & 1;
}
