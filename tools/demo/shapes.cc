// Inlined methods and a template, for names as C++ compilers write them.
#include <cstdio>
#include <vector>

namespace shapes {

template <typename Number> struct Rectangle {
    Number width, height;
    Number area() const { return width * height; }
};

inline int total_area(const std::vector<Rectangle<int>> &rectangles)
{
    int total = 0;
    for (const auto &rectangle : rectangles)
        total += rectangle.area();
    return total;
}

} // namespace shapes

int main(int argc, char **)
{
    std::vector<shapes::Rectangle<int>> rectangles(argc + 3, {argc, 2});
    std::printf("%d\n", shapes::total_area(rectangles));
}
