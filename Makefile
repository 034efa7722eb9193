# Everything a checkout needs. Each target does its own set-up, in a virtual
# environment inside the checkout; nothing outside of it is touched.
#
#   make help         this list
#   make demo         build, convert a small program, look addresses up in it
#   make test         the test suite without the slow tests (MARKERS= includes them)
#   make test-peers   the same with the peers and consumers that PyPI has (1.5 GB)
#   make test-newest  the same as test, with the newest versions of all dependencies
#   make check        the quick tests, in less than a minute
#   make soak         servers and stores under faults for MINUTES (30)
#   make lint         ruff, mypy --strict, types of public names, C warnings as errors, lines of each folder
#   make sanitize     the tests of the engine, built with ASan and UBSan
#   make mutants      damaged files of every kind on such an engine (SECONDS=60)
#   make mutants-python  changes of the package that no test notices (N=200 SEED=)
#   make analyze      static analyzers: gcc, clang-tidy, cppcheck, bandit, semgrep, as installed
#   make crashes      stacks of packaged programs that crash, beside gdb
#   make deaths       stacks of programs that die in many ways, beside gdb and eu-stack
#   make findings     surprises of other tools: whether they still are as findings/ says
#   make docs         the manual as HTML, in docs/_build
#   make wheel        the source distribution and the wheel, checked and tried, in dist
#   make deb          Debian packages, in build/deb; needs debhelper
#   make release      all that is uploaded, checked, in build/release
#   make libgsym      the engine as a C library, in build/libgsym; needs no Python
#   make install      install that library (DESTDIR= PREFIX=)
#   make man          manual pages and completions of shells, in build/share
#   make bench        speed and memory beside the peers, in an hour
#   make accept       answers beside those of the peers, in an hour
#   make sweep        the same at every byte of small programs of all processors, in minutes
#   make lock         the newest versions of all dependencies into requirements.lock
#   make clean        remove what was built, but not the virtual environment
#
# bench and accept read CORPUS, a folder of real binaries, by default build/corpus. What it
# lacks is fetched (Debian packages, 2 GB). Tables go to benchmarks/RESULTS.md and
# tests/differential/RESULTS.md, from which the manual has its figures.

PYTHON ?= python3
VENV ?= .venv
SANITIZE_CC ?= gcc
# One process more than there are cores: many tests wait for other processes.
PROCESSES := $(shell expr 1 + $$(getconf _NPROCESSORS_ONLN))
PYTEST_ARGS ?= --numprocesses $(PROCESSES) --dist worksteal
MARKERS ?= not slow
CORPUS ?= build/corpus
SECONDS ?= 60

# Exact versions, and hashes of them, of all that is installed. With `LOCK=` the newest are.
LOCK ?= requirements.lock

EXTRAS = test test-peers lint docs bench package engines
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install -q --disable-pip-version-check
CORE = gsym/engine/_core.abi3.so
PYTHON_MODULES = gsym/server/_bus_errors.abi3.so
C_SOURCES = $(wildcard csrc/*/*.c csrc/*/*.h csrc/include/gsym/*.h cpython/*.c \
    launcher/*.[ch] libgsym/*.[ch] libgsym/include/gsym/*.h)
C_WARNINGS = -std=c11 -Wall -Wextra -Wshadow -Wconversion -Wformat-security -Werror
# Benchmarks of libraries whose headers few machines have.
WITH_LIBRARIES = benchmarks/libdw_reader.c
SANITIZED = build/sanitize
REPORT = log_path=$(abspath $(SANITIZED))/report
ASAN_OPTIONS = detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:$(REPORT)
UBSAN_OPTIONS = halt_on_error=1:print_stacktrace=1:$(REPORT)

# The folder of real files that tests read; tests that need it skip without it.
export GSYM_FIXTURES ?= $(abspath ../shared/fixtures)
# The compiler that Python was built with may not be here; cc is.
export CC

.PHONY: build help demo soak test test-peers test-newest lock check lint analyze sanitize \
    sanitized mutants mutants-python findings bench accept sweep crashes deaths docs wheel deb release \
    libgsym install man clean

# In two steps: creating the virtual environment also builds an engine, and make would look
# for it too early.
build: $(VENV)/.ready
	@$(MAKE) --no-print-directory $(CORE)

# ---- virtual environment: one stamp per purpose, so that a demo needs no linter

# The pip of old versions of Python takes no hashes from a file of constraints.
$(VENV)/.ready: $(LOCK)
	$(PYTHON) tools/preflight.py
	$(PYTHON) -m venv $(VENV)
ifdef LOCK
	sed -n '/^pip==/,/[^\\]$$/p' $(LOCK) >$(VENV)/pip.txt
	$(PIP) -r $(VENV)/pip.txt
	$(PIP) -c $(LOCK) setuptools cffi
else
	$(PIP) --upgrade pip setuptools cffi
endif
	$(PIP) --no-deps --no-build-isolation -e .
	$(PIP) $(LOCK:%=-c %) gsym
	$(BIN)/python -m compileall -q gsym
	touch $@

# Without `-e`, which would compile the engine again: only the packages of the extra are
# missing.
$(EXTRAS:%=$(VENV)/.%): $(VENV)/.%: $(VENV)/.ready
	$(PIP) $(LOCK:%=-c %) 'gsym[$*]'
	touch $@

lock: $(VENV)/.ready
	$(PIP) -c $(LOCK) uv
	$(BIN)/uv pip compile -q --upgrade --universal --python-version 3.10 --all-extras \
	    --group build --generate-hashes --no-emit-index-url --no-header --no-annotate \
	    pyproject.toml -o $(LOCK)

# ---- engine

$(CORE): $(C_SOURCES) csrc/build_core.py setup.py
	$(BIN)/python setup.py -q build_ext --inplace
	test -e $(BIN)/gsym-python || $(PIP) --no-deps --no-build-isolation -e .
	test ! -d build/launcher || install build/launcher/* $(BIN)
	touch $@

# ---- what a person runs

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

demo: build
	@$(BIN)/python tools/demo.py

test: build $(VENV)/.test
test-peers: build $(VENV)/.test-peers
test test-peers:
	$(BIN)/python -m pytest -m "$(MARKERS)" $(PYTEST_ARGS)

test-newest:
	rm -rf build/newest
	$(MAKE) --no-print-directory test LOCK= VENV=build/newest

# While thinking: what takes less than a minute.
check: build $(VENV)/.test
	$(BIN)/python -m pytest -q -m "not slow and not long" $(PYTEST_ARGS)

soak: $(VENV)/.test
	$(BIN)/python -m tests.soak $(MINUTES)

lint: build $(VENV)/.test-peers $(VENV)/.lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/basedpyright --verifytypes gsym --ignoreexternal
	$(BIN)/python tools/check_c.py
	$(BIN)/python tools/house.py --check
	$(CC) $(C_WARNINGS) -iquote csrc -Icsrc/include -fsyntax-only \
	    -Ilibgsym/include $(filter-out $(WITH_LIBRARIES), \
	    $(wildcard csrc/*/*.c launcher/*.c libgsym/*.c benchmarks/*.c tools/*.c))
	$(CC) $(C_WARNINGS) -DPy_LIMITED_API=0x030A0000 -fsyntax-only cpython/*.c \
	    -I"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')"

analyze: build
	$(BIN)/python -m tools.analyze

# A second checkout in build/, so that the engine under test never replaces the one
# in use. Python itself leaks at exit by design, hence detect_leaks=0; reports go to
# files, for pytest would keep them to itself when the process dies; what measures
# time and memory is left out, for the sanitizers change both, and so are the
# comparisons with LLVM's tools.
SANITIZED_PYTEST = PYTHONPATH=$(abspath $(SANITIZED)) \
    LD_PRELOAD="$$($(SANITIZE_CC) -print-file-name=libasan.so)" \
    ASAN_OPTIONS=$(ASAN_OPTIONS) UBSAN_OPTIONS=$(UBSAN_OPTIONS) \
    $(abspath $(BIN))/python -m pytest -p no:cacheprovider $(PYTEST_ARGS)

# The allocator of Python hides reads past the end of small objects. Tests take twice as
# long without it, so only those of hostile input run without it. Commands and the server
# call the engine as other tests do.
PYTHON_TESTS = cli project remote server store trace/profiles
sanitize: sanitized
	cd $(SANITIZED) && { \
	    $(SANITIZED_PYTEST) $(PYTHON_TESTS:%=--ignore=tests/%) \
	        -m "not slow and not hostile and not no_engine and not confined" && \
	    PYTHONMALLOC=malloc $(SANITIZED_PYTEST) -m "hostile and not no_engine" \
	        $$(grep -rl --include=*.py 'mark\.hostile' tests); \
	} || { cat report.* 2>/dev/null; exit 1; }

sanitized: $(VENV)/.test
	rm -rf $(SANITIZED)
	mkdir -p $(SANITIZED)
	cp -R cpython csrc deploy examples gsym integrations launcher libgsym packaging tests tools docs \
	    benchmarks findings *.md LICENSE Makefile MANIFEST.in pyproject.toml requirements.lock \
	    setup.py $(SANITIZED)
	rm -f $(addprefix $(SANITIZED)/,$(CORE) $(PYTHON_MODULES))
	cd $(SANITIZED) && CC=$(SANITIZE_CC) \
	    GSYM_CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
	    -fno-sanitize-recover=all" GSYM_LDFLAGS="-fsanitize=address,undefined" \
	    $(abspath $(BIN))/python setup.py -q build_ext --inplace

# On the engine of the last `make sanitize`, if there is one.
mutants: $(VENV)/.test
	@test -d $(SANITIZED) || $(MAKE) --no-print-directory sanitized
	$(BIN)/python -m tools.mutate --seconds $(SECONDS)

# The seed is printed; `python -m tools.mutants.python --help` has the options.
N ?= 200
mutants-python: build $(VENV)/.test
	$(BIN)/python -m tools.mutants.python --mutants $(N)

bench: build $(VENV)/.bench
	$(BIN)/python -m benchmarks.corpus $(CORPUS)
	$(BIN)/python -m benchmarks $(CORPUS) --write

accept: build $(VENV)/.test-peers
	$(BIN)/python -m tests.differential.accept $(CORPUS) --write

sweep: build $(VENV)/.test-peers
	$(BIN)/python -m tests.differential.sweep --write

crashes: build $(VENV)/.test
	$(BIN)/python -m tests.differential.crashes --write

deaths: build $(VENV)/.test
	$(BIN)/python -m tests.differential.deaths --write

# One after another; 77 is the status of those whose packages or tools are not here.
findings:
	@failed=; for script in findings/*.sh; do \
	    echo "== $$script"; status=0; $$script || status=$$?; \
	    case $$status in 0|77) ;; *) failed="$$failed $$script" ;; esac; \
	done; test -z "$$failed" || { echo "changed:$$failed"; exit 1; }

# All pages, for each has the contents of the others beside it.
docs: build $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W -E -a docs docs/_build

# The wheel is built from the source distribution, so that this is known to be complete.
WHEEL = build/wheel
wheel: $(VENV)/.package
	rm -rf $(WHEEL) dist
	$(BIN)/python -m build -q --no-isolation --outdir $(WHEEL)
	PATH="$(abspath $(BIN)):$$PATH" auditwheel repair --wheel-dir dist $(WHEEL)/*.whl
	$(BIN)/abi3audit --strict --summary dist/*.whl
	mv $(WHEEL)/*.tar.gz dist
	$(PYTHON) -m venv $(WHEEL)/venv
	$(BIN)/python -m pip -q --python $(WHEEL)/venv install --no-deps dist/*.whl
	$(BIN)/python -m pip -q --python $(WHEEL)/venv install $(LOCK:%=-c %) gsym
	$(WHEEL)/venv/bin/python tools/check_installation.py
	ls -l dist

# From the source distribution, too. `DEB_FLAGS=-d` builds with other versions of tools
# than packaging/debian/control asks for.
DEB = build/deb
DEB_FLAGS ?= --build=full
deb: build
	rm -rf $(DEB) && mkdir -p $(DEB)
	$(BIN)/python setup.py -q egg_info --egg-base $(DEB) sdist --dist-dir $(DEB)/gsym
	cd $(DEB) && tar xzf gsym/*.tar.gz --strip-components=1 -C gsym
	cd $(DEB) && mv gsym/gsym-*.tar.gz gsym_$$(sed -n 's/^Version: //p' gsym/PKG-INFO).orig.tar.gz
	cp -R $(DEB)/gsym/packaging/debian $(DEB)/gsym/debian
	cd $(DEB)/gsym && dpkg-buildpackage --no-sign $(DEB_FLAGS)
	ls -l $(DEB)

# The source distribution, the wheel of this machine, Debian packages, the manual, and
# checksums. Wheels for other machines are added by `cibuildwheel`, on each of them.
RELEASE = build/release
TAG ?=
release: docs wheel deb
	rm -rf $(RELEASE) && mkdir -p $(RELEASE)
	cp dist/* $(DEB)/*.deb $(RELEASE)
	version=$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml) && \
	    tar cJf $(RELEASE)/gsym-$$version-manual.tar.xz --sort=name --owner=0 --group=0 \
	    --numeric-owner --exclude=.doctrees --exclude=.buildinfo \
	    --transform="s,^docs/_build,gsym-$$version-manual," docs/_build
	$(BIN)/python tools/release.py check $(RELEASE) --tag="$(TAG)"

libgsym:
	$(MAKE) -C libgsym

install:
	$(MAKE) -C libgsym install

man: build
	$(BIN)/python -m tools.shared_files build/share >/dev/null

clean:
	rm -rf build dist $(CORE) $(PYTHON_MODULES) *.egg-info docs/_build
