// Templates, nested functions, methods and a unit test hook.
module shapes;

import core.stdc.stdio : printf;

__gshared int state = 3;

T clamp(T)(T value, T low, T high) {
    if (value < low) return low;
    return value > high ? high : value;
}

int mix(int value) {
    int nested(int more) { return more * value + state; }
    value = clamp(value, -1000, 1000);
    return nested(31) + (value >> 3);
}

class Shape {
    int area(int side) { return mix(side); }
}

final class Square : Shape {
    override int area(int side) { return mix(side) * side; }
}

struct Pair {
    int first, second;
    int opBinary(string op : "+")(Pair other) const { return first + other.second; }
}

int main() {
    Shape square = new Square;
    int sum = 0;
    foreach (i; 0 .. 4 + state) sum += square.area(i) + (Pair(i, 1) + Pair(2, i));
    printf("%d\n", sum);
    return 0;
}
