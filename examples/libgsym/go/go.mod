module example.org/gsym

go 1.19
