# GSYM files of programs and libraries: `include gsym.mk`, then `make app.gsym`.
#
# A file is made again when its binary changes, or another file that the conversion read:
# split units, a debug file. GSYM_OPTIONS are those of `gsym convert`.

GSYM ?= gsym

%.gsym: %
	$(GSYM) convert --quiet $(GSYM_OPTIONS) $< -o $@ --depfile $@.d

-include $(wildcard *.gsym.d)
