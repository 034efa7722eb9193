# GSYM files in Debian packages: copy this to debian/gsym.mk, and `include debian/gsym.mk` in
# a debian/rules that uses dh.
#
# Before dh_dwz and dh_strip change them, the programs and libraries of each package get a
# GSYM file: in GSYM_PACKAGE if debian/rules sets it, such as app-gsym, else in their own
# package; beside them, where `gsym lookup` finds it. GSYM_OPTIONS are those of
# `gsym convert`.

GSYM ?= gsym

execute_before_dh_dwz:
	set -e; for package in $$(dh_listpackages --arch); do \
	    find "debian/$$package" -type f ! -path '*/usr/lib/debug/*' | while read -r file; do \
	        LC_ALL=C readelf -h "$$file" 2>/dev/null | grep -Eq 'Type: +(EXEC|DYN)' || continue; \
	        output="debian/$(or $(GSYM_PACKAGE),$$package)/$${file#debian/*/}.gsym"; \
	        mkdir -p "$${output%/*}"; \
	        $(GSYM) convert --quiet --allow-empty $(GSYM_OPTIONS) "$$file" -o "$$output"; \
	    done; \
	done
