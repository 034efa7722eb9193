/* index_measures.h - what the indexes in memory and those in a file are made by. */
#ifndef GSYM_GSYM_INDEX_MEASURES_H
#define GSYM_GSYM_INDEX_MEASURES_H

enum {
    INDEX_LEAST_PAYLOAD = 128,  /* bytes of lines or of calls: fewer are decoded as fast */
    INDEX_LINE_SPACING = 64,    /* bytes of opcodes between two checkpoints */
    INDEX_STEPS_PER_RANGE = 256 /* work that a tree of calls may ask for */
};

#endif
