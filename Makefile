# Everything runs inside .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What suffices where one level does: the installation that there is.
ANY_LEVEL := $(firstword $(wildcard $(VENV)/installed $(VENV)/one-level) $(VENV)/installed)
# Processes that run the tests; each of them has threads of its own.
WORKERS ?= 2
# Make an environment if it is missing; its Python must be new enough in any case.
ENVIRONMENT = @if test -x $(1)/bin/python; then python=$(1)/bin/python; remedy="remove $(1), and "; else python="$(PYTHON)" remedy=; fi; \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "ActUp needs Python 3.11 or newer, which $$python is not: $${remedy}give PYTHON=python3.12"; exit 1; }; \
  test -x $(1)/bin/python || $$python -m venv $(1)
NATIVE := $(shell find src/actup/_native -type f)
SOURCES := $(NATIVE) CMakeLists.txt pyproject.toml

.PHONY: demo help docs pictures screenshots develop test lint types doctest format stubs bench bench-quick figures reproduce reproduce-quick \
  golden same-bits sanitize sanitize-cuda interrupts faults soak fuzz fuzz-native integration upstream wheel sdist release-check pins clean

demo: $(firstword $(wildcard $(VENV)/installed) $(VENV)/one-level)  ## embed handwritten digits four ways, into out/
	$(BIN)/python examples/demo.py --out out

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: $(VENV)/installed lint types  ## what continuous integration runs: lint, types, doctests and all tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(VENV)/tools  ## check the style of Python and C++
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror src/actup/_native/*/* tests/native/*.?pp tests/native/hashes/* tests/native/fuzz/*.?pp

types: $(VENV)/tools  ## check the types
	$(BIN)/mypy

# In an environment of its own: these packages pin many others, and bring PyTorch.
INTEGRATION := .venv-integration
integration: $(INTEGRATION)/installed  ## run ActUp with scanpy, BERTopic, Embedding Atlas, pandas and polars
	$(INTEGRATION)/bin/python -m pytest tests/integration src/actup/sc src/actup/_atlas.py

doctest: $(ANY_LEVEL)  ## run the examples of the docstrings
	$(BIN)/python -m pytest src/actup

format: $(VENV)/tools  ## put the style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/actup/_native/*/* tests/native/*.?pp tests/native/hashes/* tests/native/fuzz/*.?pp

# ---- the documentation ----

# Warnings are errors, and so are names and links that lead nowhere. The gallery's programs run when they have changed.
docs: $(VENV)/docs  ## build the documentation, into build/docs/html
	$(BIN)/python -m sphinx -b html -W --keep-going -n --jobs auto docs build/docs/html
	$(BIN)/python docs/_extensions/check_links.py build/docs/html

pictures: $(VENV)/docs  ## draw the picture and the animation of the README
	$(BIN)/python docs/pictures/readme.py

screenshots: $(VENV)/screenshots  ## pictures of interactive pages in the docs; needs Chromium and data sets
	$(BIN)/python docs/pictures/screenshots.py

# ---- the bench, the paper ----

# Data sets: see `actup datasets`. Tables are printed as they are measured, then the page is written.
bench: $(VENV)/race  ## race ActUp against its peers on all data sets (hours)
	$(BIN)/python benchmarks/race.py
	$(BIN)/python benchmarks/layout.py
	$(BIN)/python benchmarks/tsne.py
	$(BIN)/python benchmarks/neighbors.py
	$(BIN)/python benchmarks/busy.py
	$(BIN)/python benchmarks/figures.py

bench-quick: $(VENV)/benchmarks  ## the same race on small data (two minutes)
	$(BIN)/python benchmarks/race.py --quick

figures: $(VENV)/installed  ## docs/benchmarks.md and its pictures, from the saved results
	$(BIN)/python benchmarks/figures.py

reproduce: $(VENV)/installed  ## docs/reproduction.md and its pictures; continues where it stopped
	$(BIN)/actup reproduce all --page docs

reproduce-quick: $(VENV)/installed  ## the paper's experiments on 2,000 points
	$(BIN)/actup reproduce all --quick

# ---- compiled code ----

# LEVEL=v3 builds another level than that of this processor. pytest then runs as .venv/bin/pytest tests/...
LEVEL := native
develop: $(VENV)/tools  ## compile one level quickly, with little optimisation (LEVEL=v3: that level)
	rm -f $(VENV)/installed $(VENV)/one-level
	$(INSTALL) $(call DEFINE,ACTUP_DEVELOP=ON) $(call DEFINE,ACTUP_LEVELS=$(LEVEL)) \
	  --config-settings=build-dir=build/develop --editable ".[test]"
	touch $(VENV)/one-level

stubs: $(ANY_LEVEL)  ## write the types of the compiled modules
	$(BIN)/python tests/engine_stub.py

# The compiled code without Python, once under the thread sanitizer and once under the other two.
CXX ?= g++
SANITIZE := build/sanitize
PROGRAMS := $(patsubst tests/native/%.cpp,%,$(wildcard tests/native/*.cpp))
ARCHITECTURE := $(if $(filter x86_64,$(shell uname -m)),-march=x86-64-v3)

COMPILE = mkdir -p $(@D) && $(CXX) -std=gnu++20 -O1 -g $(ARCHITECTURE) -ffp-contract=off -Wall -Wextra -Wno-psabi \
  -pthread -Isrc/actup/_native -fno-sanitize-recover=all $< -o $@

sanitize: $(PROGRAMS:%=$(SANITIZE)/thread/%) $(PROGRAMS:%=$(SANITIZE)/address/%)  ## run the compiled code under the thread, address and undefined-behaviour sanitizers
	for program in $^; do echo $$program; TSAN_OPTIONS=halt_on_error=1 $$program || exit 1; done

$(SANITIZE)/thread/%: tests/native/%.cpp $(NATIVE) $(wildcard tests/native/*.hpp)
	$(COMPILE) -fsanitize=thread

$(SANITIZE)/address/%: tests/native/%.cpp $(NATIVE) $(wildcard tests/native/*.hpp)
	$(COMPILE) -fsanitize=address,undefined

interrupts: $(VENV)/installed  ## send Ctrl-C and SIGTERM at 200 random moments of all kinds of work
	$(BIN)/python tests/interrupts.py

MOMENTS ?= 200
faults: $(ANY_LEVEL)  ## kill, interrupt and starve every command at 200 random moments each (MOMENTS=20: fewer)
	$(BIN)/python tests/faults.py --moments $(MOMENTS)

soak: $(ANY_LEVEL)  ## an hour of random work in one process, whose memory, threads and files are watched (MINUTES=5: less)
	$(BIN)/python tests/soak.py --minutes $(or $(MINUTES),60)

# Half the time for calls and files (tests/fuzz), half for compiled code (tests/native/fuzz), by libFuzzer where clang
# has it; FUZZ_CXX=g++ feeds random bytes to the same targets. MINUTES may be a fraction. SEED=17 repeats a run.
FUZZ_MINUTES = $(or $(MINUTES),10)
HALF_OF_FUZZ_MINUTES = $(shell awk 'BEGIN { print $(FUZZ_MINUTES) / 2 }')
FUZZ_CXX ?= $(firstword $(foreach compiler,clang++ clang++-19 clang++-16 clang++-14,$(shell command -v $(compiler))) g++)
FUZZ_TARGETS := $(patsubst tests/native/fuzz/%.cpp,%,$(filter-out %/main.cpp,$(wildcard tests/native/fuzz/*.cpp)))
LIBFUZZER = $(findstring clang,$(FUZZ_CXX))

fuzz: $(ANY_LEVEL)  ## random calls and changed files, and compiled code under sanitizers, for MINUTES=10
	$(MAKE) fuzz-native MINUTES=$(HALF_OF_FUZZ_MINUTES)
	$(BIN)/python -m tests.fuzz --minutes $(HALF_OF_FUZZ_MINUTES) $(SEED:%=--seed %)

fuzz-native: $(FUZZ_TARGETS:%=build/fuzz/%)  ## only compiled code, under sanitizers, for MINUTES=10
	$(PYTHON) tests/native/fuzz/run.py --build build/fuzz --minutes $(FUZZ_MINUTES) $(LIBFUZZER:%=--libfuzzer) \
	  $(SEED:%=--seed %) $(FUZZ_TARGETS)

build/fuzz/%: tests/native/fuzz/%.cpp tests/native/fuzz/main.cpp $(NATIVE) $(wildcard tests/native/*.hpp tests/native/fuzz/*.hpp)
	mkdir -p $(@D) && $(FUZZ_CXX) -std=gnu++20 -O1 -g $(ARCHITECTURE) -ffp-contract=off -Wall -Wextra -Wno-psabi -pthread \
	  -Isrc/actup/_native -fno-sanitize-recover=all $< -o $@ \
	  $(if $(LIBFUZZER),-fsanitize=fuzzer,tests/native/fuzz/main.cpp) -fsanitize=address,undefined

# ---- other libraries ----

upstream: $(VENV)/upstream  ## run tests of scikit-learn, openTSNE and umap-learn's interface, write docs/compatibility.md
	for suite in sklearn_tsne opentsne umap_learn; do $(BIN)/python tests/upstream/$$suite.py --save || exit 1; done
	$(BIN)/python tests/upstream/compatibility.py

# ---- the same bits on every processor ----

# Only after a change that is meant to change maps.
golden: $(VENV)/installed  ## record the hashes of ten maps, which the tests compare, anew
	$(BIN)/python benchmarks/same_bits.py --golden > tests/golden_hashes.txt

# The compiled code without Python: natively, and under emulators for an ARM64 and an old x86-64 processor.
HASHES := build/hashes
HASHED := searches layouts clusters
HASH = mkdir -p $(@D) && $(1) -std=gnu++20 -O2 -ffp-contract=off -fno-math-errno -fno-trapping-math -Wall -Wextra \
  -Wno-psabi -Wno-array-bounds -pthread -Isrc/actup/_native $< -o $@
HASH_SOURCES := $(NATIVE) $(wildcard tests/native/*.hpp) tests/native/hashes/hash.hpp

same-bits: $(HASHED:%=$(HASHES)/%.same)  ## compare hashes of compiled stages with those of an ARM64 and an old x86-64 processor, emulated

$(HASHES)/%.same: $(HASHES)/native/% $(HASHES)/v2/% $(HASHES)/arm64/%
	$(HASHES)/native/$* > $(HASHES)/$*.txt
	ACTUP_CPU=v4-without-vnni $(HASHES)/native/$* | diff $(HASHES)/$*.txt -
	qemu-x86_64 -cpu Nehalem $(HASHES)/v2/$* | diff $(HASHES)/$*.txt -
	qemu-aarch64 -L /usr/aarch64-linux-gnu $(HASHES)/arm64/$* | diff $(HASHES)/$*.txt -
	touch $@

$(HASHES)/native/%: tests/native/hashes/%.cpp $(HASH_SOURCES) | $(HASHES)/tools
	$(call HASH,$(CXX) -march=native)

$(HASHES)/v2/%: tests/native/hashes/%.cpp $(HASH_SOURCES) | $(HASHES)/tools
	$(call HASH,$(CXX) -march=x86-64-v2)

$(HASHES)/arm64/%: tests/native/hashes/%.cpp $(HASH_SOURCES) | $(HASHES)/tools
	$(call HASH,aarch64-linux-gnu-g++)

.PRECIOUS: $(HASHES)/native/% $(HASHES)/v2/% $(HASHES)/arm64/%

$(HASHES)/tools:
	@for tool in aarch64-linux-gnu-g++ qemu-aarch64 qemu-x86_64; do command -v $$tool > /dev/null || \
	  { echo "make same-bits needs $$tool, on an x86-64 Linux: apt install g++-aarch64-linux-gnu qemu-user"; exit 1; }; done
	mkdir -p $(@D) && touch $@

# ---- sanitizers ----

# Kernels of every stage on a GPU, under CUDA's own checkers. CuPy's are left out: racecheck warns of its nonzero().
# A whole descent on the mesh takes it too long, because of cuFFT: three epochs stand for it.
KERNELS := (few_points and cuda_neighbors) or test_metrics or refinement or pairs_of_blocks or graph_equals or pca_start or connected_components or \
  components_are_numbered or start_of_many_components or scale_start or tree_that_opens or coincide or \
  (narrow_values and (give or cells)) or \
  horizon_equals or two_potentials or hubs_colour or one_point or spectral_start_of_components or test_placement or \
  (equals_the_cpu_on_many_points and umap and mesh and not gdr and not sampled)

sanitize-cuda: $(VENV)/installed  ## run the GPU's tests under memcheck and racecheck
	for tool in memcheck racecheck; do compute-sanitizer --tool $$tool \
	  --kernel-name-exclude kernel_substring=cupy_ --error-exitcode 1 $(BIN)/python -m pytest -m cuda -k "$(KERNELS)" || exit 1; done

# ---- releases ----

# The programs that check releases have an environment of their own, with pinned versions.
RELEASE := .venv-release

wheel: $(RELEASE)/installed  ## build one wheel into dist/, check it, and test it without a compiler (PYTHON=python3.12: for that)
	$(RELEASE)/bin/python release/wheel.py --python $(PYTHON)

sdist: $(RELEASE)/installed  ## build the source distribution into dist/, check it, and install it without a network
	$(RELEASE)/bin/python release/sdist.py --python $(PYTHON)

# With ONLINE=--online, as in continuous integration, services of the network have to answer.
release-check: $(RELEASE)/installed  ## all that must be green before a release: see docs/releasing.md
	$(RELEASE)/bin/python release/check.py --python $(PYTHON) $(ONLINE)

# For today's releases, from PyPI alone: another index may lack files whose hashes belong into the list. One list serves all
# systems and Pythons: packages that only some of them need have a marker.
PIP_COMPILE = UV_CUSTOM_COMPILE_COMMAND="make pins" $(RELEASE)/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 \
  --generate-hashes --no-emit-index-url --default-index https://pypi.org/simple --upgrade
pins: $(RELEASE)/installed  ## write the exact versions and hashes of release/requirements/ anew
	$(RELEASE)/bin/pip install --quiet uv
	for name in build tools; do $(PIP_COMPILE) --output-file release/requirements/$$name.txt release/requirements/$$name.in || exit 1; done

$(RELEASE)/installed: release/requirements/tools.txt
	$(call ENVIRONMENT,$(RELEASE))
	$(RELEASE)/bin/pip install --quiet --require-hashes --requirement $<
	touch $@

# ---- what is installed in .venv ----
# One of two stamps says what the editable installation has: installed (all levels) or one-level.

# Builds run in .venv itself, not in an environment of their own: its paths would change and everything be compiled again.
INSTALL := $(BIN)/pip install --quiet --no-build-isolation
DEFINE = --config-settings=cmake.define.$(1)

$(VENV)/installed: $(VENV)/tools $(SOURCES)
	$(INSTALL) --editable ".[test]"
	rm -f $(VENV)/one-level
	touch $@

$(VENV)/one-level: $(VENV)/build-tools $(SOURCES)
	$(INSTALL) $(call DEFINE,ACTUP_LEVELS=native) --editable ".[plot,cli]"
	touch $@

$(INTEGRATION)/installed: $(SOURCES)
	$(call ENVIRONMENT,$(INTEGRATION))
	$(INTEGRATION)/bin/python -c '$(call REQUIREMENTS,toml["build-system"]["requires"])' > $@.txt
	$(INTEGRATION)/bin/pip install --quiet --requirement $@.txt cmake ninja
	$(INTEGRATION)/bin/pip install --quiet --no-build-isolation $(call DEFINE,ACTUP_LEVELS=native) \
	  --config-settings=build-dir=build/integration --editable ".[integration]"
	$(INTEGRATION)/bin/python -c '$(call REQUIREMENTS,toml["project"]["optional-dependencies"]["integration-atlas"])' > $@.txt
	$(INTEGRATION)/bin/pip install --quiet --requirement $@.txt || echo "Embedding Atlas cannot be installed: its tests are skipped"
	touch $@

$(VENV)/docs: $(VENV)/installed
	$(INSTALL) --editable ".[docs]"
	touch $@

$(VENV)/screenshots: $(VENV)/installed
	$(INSTALL) --editable ".[screenshots]"
	touch $@

$(VENV)/benchmarks: $(VENV)/installed
	$(INSTALL) --editable ".[bench]"
	touch $@

$(VENV)/upstream: $(VENV)/installed
	$(INSTALL) --editable ".[upstream]"
	touch $@

# The paper's package asks for releases of 2022; it runs on today's, with the setuptools it imports.
$(VENV)/race: $(VENV)/benchmarks
	$(INSTALL) --editable ".[race]"
	$(BIN)/pip install --quiet --no-deps "setuptools<81" GradientDR || echo "GradientDR cannot be installed: the race goes without"
	touch $@

# What builds ActUp, and all that is needed to check it without building it: read from pyproject.toml.
REQUIREMENTS = import tomllib; toml = tomllib.load(open("pyproject.toml", "rb")); print(*$(1), sep="\n")

$(VENV)/tools: $(VENV)/build-tools
	$(BIN)/python -c '$(call REQUIREMENTS,toml["project"]["optional-dependencies"]["lint"] + toml["project"]["dependencies"])' > $@.txt
	$(BIN)/pip install --quiet --requirement $@.txt
	touch $@

$(VENV)/build-tools: pyproject.toml
	$(call ENVIRONMENT,$(VENV))
	$(BIN)/python -c '$(call REQUIREMENTS,toml["build-system"]["requires"])' > $@.txt
	$(BIN)/pip install --quiet --requirement $@.txt cmake ninja
	touch $@

# Not out/, which may hold hours of results.
clean:  ## remove .venv*, build/, dist/ and what the documentation generates
	rm -rf $(VENV) $(INTEGRATION) $(RELEASE) build dist docs/api docs/examples docs/sg_execution_times.rst
