"""`python -m gsym.include` tells the folder of the headers for C and C++."""
