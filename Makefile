# Everything runs inside .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src/actup/_native -type f) CMakeLists.txt pyproject.toml

.PHONY: demo test lint format bench bench-quick figures reproduce reproduce-quick sanitize sanitize-cuda clean

demo: $(VENV)/installed
	$(BIN)/python examples/demo.py --out out

test: $(VENV)/installed lint
	$(BIN)/python -m pytest

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror src/actup/_native/*/* tests/native/*

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/actup/_native/*/* tests/native/*

# Data sets: see `actup datasets`. Tables are printed as they are measured, then the page is written.
bench: $(VENV)/race
	$(BIN)/python benchmarks/race.py
	$(BIN)/python benchmarks/layout.py
	$(BIN)/python benchmarks/tsne.py
	$(BIN)/python benchmarks/neighbors.py
	$(BIN)/python benchmarks/busy.py
	$(BIN)/python benchmarks/figures.py

bench-quick: $(VENV)/benchmarks
	$(BIN)/python benchmarks/race.py --quick

# docs/benchmarks.md and its pictures, from the saved results.
figures: $(VENV)/installed
	$(BIN)/python benchmarks/figures.py

# docs/reproduction.md and its pictures; goes on where it stopped.
reproduce: $(VENV)/installed
	$(BIN)/actup reproduce all --page docs

reproduce-quick: $(VENV)/installed
	$(BIN)/actup reproduce all --quick

# The compiled code without Python, once under the thread sanitizer and once under the other two.
CXX ?= g++
SANITIZE := build/sanitize
PROGRAMS := $(patsubst tests/native/%.cpp,%,$(wildcard tests/native/*.cpp))
LEVEL := $(if $(filter x86_64,$(shell uname -m)),-march=x86-64-v3)

NATIVE := $(wildcard tests/native/*.hpp) $(SOURCES)
COMPILE = mkdir -p $(@D) && $(CXX) -std=gnu++20 -O1 -g $(LEVEL) -ffp-contract=fast -Wall -Wextra -Wno-psabi \
  -pthread -Isrc/actup/_native -fno-sanitize-recover=all $< -o $@

sanitize: $(PROGRAMS:%=$(SANITIZE)/thread/%) $(PROGRAMS:%=$(SANITIZE)/address/%)
	for program in $^; do echo $$program; TSAN_OPTIONS=halt_on_error=1 $$program || exit 1; done

$(SANITIZE)/thread/%: tests/native/%.cpp $(NATIVE)
	$(COMPILE) -fsanitize=thread

$(SANITIZE)/address/%: tests/native/%.cpp $(NATIVE)
	$(COMPILE) -fsanitize=address,undefined

# Kernels of every stage on a GPU, under CUDA's own checkers. CuPy's are left out: racecheck warns of its nonzero().
# A whole descent on the mesh takes it too long, because of cuFFT: three epochs stand for it.
KERNELS := (few_points and cuda_neighbors) or test_metrics or refinement or pairs_of_blocks or graph_equals or pca_start or pieces or \
  near_horizon or two_potentials or hubs_colour or one_point or side_by_side or (test_places and (TSNE or lambda)) or \
  (equals_the_cpu_on_many_points and umap and mesh and not gdr and not sampled)

sanitize-cuda: $(VENV)/installed
	for tool in memcheck racecheck; do compute-sanitizer --tool $$tool \
	  --kernel-name-exclude kernel_substring=cupy_ --error-exitcode 1 $(BIN)/python -m pytest -m cuda -k "$(KERNELS)" || exit 1; done

$(VENV)/installed: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/benchmarks: $(VENV)/installed
	$(BIN)/pip install --quiet --editable ".[bench]"
	touch $@

# The paper's package asks for releases of 2022; it runs on today's, with the setuptools it imports.
$(VENV)/race: $(VENV)/benchmarks
	$(BIN)/pip install --quiet --editable ".[race]"
	$(BIN)/pip install --quiet --no-deps "setuptools<81" GradientDR || echo "GradientDR cannot be installed: the race goes without"
	touch $@

# Not out/, which may hold hours of results.
clean:
	rm -rf $(VENV) build
