// Ways to die, each at the end of a chain of calls: deaths WAY.
#include <algorithm>
#include <cstring>
#include <vector>

#define APART __attribute__((noinline, noclone))

static volatile int one = 1;
extern "C" {
APART int leaf(volatile int *p) { return *p + one; }
}
struct Ends {
    APART ~Ends() { leaf(nullptr); }
};
struct Base {
    Base() { show(); }
    APART void show() { shown(); }
    virtual int shown() = 0;
};
struct Derived : Base {
    int shown() override { return one; }
};

extern "C" {
APART int by_throw() { throw one; }
APART int by_noexcept() noexcept { return by_throw() + one; }
APART int by_destructor() {
    try {
        Ends ends;
        by_throw();
    } catch (int) {
    }
    return one;
}
APART int by_at() { return std::vector<int>(3).at(static_cast<size_t>(3 * one)) + one; }
APART int by_lambda() {
    std::vector<int> some{3, 2, 1};
    std::sort(some.begin(), some.end(), [](int a, int) { return leaf(nullptr) < a; });
    return some[0] + one;
}
APART int by_pure() { return Derived().shown() + one; }
APART int work(const char *way) {
    if (!std::strcmp(way, "throw")) return by_throw() + one;
    if (!std::strcmp(way, "noexcept")) return by_noexcept() + one;
    if (!std::strcmp(way, "destructor")) return by_destructor() + one;
    if (!std::strcmp(way, "at")) return by_at() + one;
    if (!std::strcmp(way, "lambda")) return by_lambda() + one;
    if (!std::strcmp(way, "pure")) return by_pure() + one;
    return 0;
}
APART int outer(const char *way) { return work(way) + one; }
}
int main(int count, char **words) { return outer(words[count - 1]); }
