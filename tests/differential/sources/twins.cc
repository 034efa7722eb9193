// One half of a program; compiled with -DOTHER it is the other.
#include "twins.h"

#ifdef OTHER
int other_half(int value) { return twin<long>(value) + Pair{value, 2}.sum(); }
#else
int main(int argc, char **) {
    return (twin<long>(argc) + twin<char>(3) + Pair{argc, 1}.sum() + other_half(4)) & 1;
}
#endif
