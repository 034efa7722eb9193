/* Three small functions that a compiler folds into their callers at -O2. */
#include <stdio.h>

static inline int step(int height)
{
    return height * 3 + 1;
}

static inline int flight(int height)
{
    int total = 0;
    for (int i = 0; i < height; i++)
        total += step(i ^ height);
    return total;
}

static int climb(int floors)
{
    return flight(floors) + step(floors);
}

int main(int argc, char **argv)
{
    (void)argv;
    printf("%d\n", climb(argc + 4));
    return 0;
}
