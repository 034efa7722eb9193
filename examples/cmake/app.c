/* Divides by the number of its arguments, and crashes without any. */
#include <stdio.h>

static int share(int total, int people)
{
    int *none = 0;
    return people ? total / people : *none;
}

int main(int argc, char **argv)
{
    (void)argv;
    printf("%d each\n", share(120, argc - 1));
    return 0;
}
