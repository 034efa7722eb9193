// A C++ program: inlined calls below try and catch, methods of local classes,
// lambdas, functions in named and unnamed namespaces, templates, thunks.
#include "shapes.h"

#include <cstdio>

volatile int state;

namespace outer {
namespace inner {

struct Failure {
    int code;
};

static inline __attribute__((always_inline)) int checked(int value) {
    if (value == state) throw Failure{value};
    return mix(value);
}

static __attribute__((noinline)) int guarded(int value) {
    try {
        return checked(value) + checked(value + 1);
    } catch (const Failure &failure) {
        return mix(failure.code) + clamp(failure.code, 1, 5);
    }
}

template <typename Number, int Factor>
__attribute__((noinline)) Number scaled(Number value) {
    return mix(static_cast<int>(value)) * Factor;
}

}  // namespace inner

extern "C" __attribute__((noinline)) int with_c_linkage(int value) {
    return inner::guarded(value) + 1;
}

}  // namespace outer

namespace {

__attribute__((noinline)) int hidden(int value) { return mix(value) ^ state; }

struct Shape {
    virtual ~Shape() {}
    virtual int area(int side) const = 0;
};

struct Named {
    virtual ~Named() {}
    virtual int name() const { return 7; }
};

struct Square : Shape, Named {
    int area(int side) const override { return mix(side) * side; }
    int name() const override { return outer::inner::scaled<int, 4>(state); }
};

}  // namespace

__attribute__((noinline)) int local_class(int value) {
    struct Local {
        int held;
        __attribute__((noinline)) int method(int more) const {
            return mix(held + more);
        }
        struct Deeper {
            static __attribute__((noinline)) int call(int n) { return mix(n) - 1; }
        };
    };
    Local local{value};
    return local.method(state) + Local::Deeper::call(value);
}

__attribute__((noinline)) int lambdas(int value) {
    auto add = [value](int more) __attribute__((noinline)) {
        auto deep = [more](int last) __attribute__((noinline)) {
            return mix(more) + last;
        };
        return deep(value);
    };
    return add(state) + add(3);
}

__attribute__((noinline)) static int through(const Named *named, const Shape *shape) {
    return named->name() + shape->area(3);
}

int main(int argc, char **) {
    Square square;
    int sum = through(&square, &square);
    for (int i = 0; i < argc + 3; i++) {
        sum += outer::with_c_linkage(i) + hidden(i) + local_class(i) + lambdas(i);
        sum += outer::inner::scaled<long, 2>(i);
    }
    std::printf("%d\n", sum);
    return 0;
}
