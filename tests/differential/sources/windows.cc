// A program for Windows without a C library: types of parameters, inlined calls, lambdas,
// members, and two functions that a linker may fold.

typedef unsigned long long u64;
#define NOINLINE __attribute__((noinline))
#define INLINE __attribute__((always_inline)) inline

// What the compiler expects of a C library.
extern "C" int _fltused = 0;
extern "C" void *memset(void *target, int value, u64 size) {
  char *at = (char *)target;
  while (size--) *at++ = (char)value;
  return target;
}
extern "C" void *memcpy(void *target, const void *source, u64 size) {
  char *at = (char *)target;
  const char *from = (const char *)source;
  while (size--) *at++ = *from++;
  return target;
}

volatile int sink;
volatile int source = 7;

namespace geo {
struct Point {
  int x, y;
  NOINLINE int norm() const { return x * x + y * y; }
  INLINE int dot(const Point &other) const { return x * other.x + y * other.y; }
  static NOINLINE int make(int value, Point *const point) {
    point->x = value;
    return value;
  }
};

template <typename T, int N> struct Box {
  T items[N];
  NOINLINE T sum() const {
    T total = 0;
    for (int i = 0; i < N; ++i) total += items[i];
    return total;
  }
  INLINE T first() { return items[0] + (T)sink; }
};

enum class Color { Red, Green };
enum Old { A, B };

NOINLINE int paint(Color color, Old old, const char *const *names, int (*callback)(int, char),
                   int (&numbers)[3], Point &&point, bool b, wchar_t w, char16_t c16,
                   double d, float f, long l, unsigned long ul, short s,
                   unsigned char uc, signed char sc, u64 q) {
  sink = (int)color + old + (names ? 1 : 0) + callback(1, 'x') + numbers[0] + point.x;
  sink += b + w + c16 + (int)d + (int)f + (int)l + (int)ul + s + uc + sc + (int)q;
  return sink;
}

NOINLINE int members(int (Point::*function)() const, int Point::*field, Point *point) {
  return (point->*function)() + point->*field;
}
} // namespace geo

static INLINE int leaf(int value) {
  sink = value;
  return sink * 3 + source;
}

static INLINE int middle(int value) {
  int result = leaf(value) + 1;
  if (source > 3)
    result += leaf(value + 2);
  return result;
}

static NOINLINE int same1(int value) {
  sink = value;
  return value + 41;
}

static NOINLINE int same2(int value) {
  sink = value;
  return value + 41;
}

static NOINLINE int callback(int a, char c) { return a + c; }

template <typename F> NOINLINE int apply(F function, int count) {
  int total = 0;
  for (int i = 0; i < count; ++i) total += function(i);
  return total;
}

NOINLINE int variadic(const char *format, ...) { return format[0] + source; }

NOINLINE __attribute__((cold)) int cold_path(int value) { return middle(value) - 5; }

extern "C" NOINLINE int c_function(int a, void *p) { return a + (p != 0); }

extern "C" int mainCRTStartup() {
  geo::Point p{source, 2}, q{3, 4};
  geo::Box<int, 4> numbers{{1, 2, 3, source}};
  geo::Box<char, 2> characters{{1, (char)source}};
  int total = p.norm() + p.dot(q) + numbers.sum() + numbers.first() + characters.sum();
  int three[3] = {1, 2, 3};
  const char *names[2] = {"a", "b"};
  total += middle(total);
  total += geo::paint(geo::Color::Green, geo::B, names, callback, three,
                      geo::Point{1, 2}, true, L'x', u'y', 1.5, 2.5f, 3, 4, 5, 6, 7, 8);
  total += geo::members(&geo::Point::norm, &geo::Point::y, &p);
  total += apply([&](int i) { return leaf(i) + p.x; }, 5);
  total += apply([](int i) { return i * 2 + source; }, 3);
  total += same1(total) + same2(total) + variadic("x", 1, 2);
  total += geo::Point::make(3, &q) + c_function(1, &p);
  if (source == 100)
    total += cold_path(total);
  return total;
}
