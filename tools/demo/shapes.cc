// Inlined methods of a template in a namespace: names as C++ compilers write them.
#include <cstdio>

namespace shapes {

template <typename Number> struct Rectangle {
    Number width, height;
    Number area() const { return width * height; }
};

template <typename Shape> int total_area(const Shape *shapes, int count)
{
    int total = 0;
    for (int i = 0; i < count; i++)
        total += shapes[i].area();
    return total;
}

} // namespace shapes

int main(int argc, char **)
{
    shapes::Rectangle<int> rectangles[64];
    for (int i = 0; i < 64; i++)
        rectangles[i] = {argc + i, argc * i};
    std::printf("%d\n", shapes::total_area(rectangles, argc % 64));
}
