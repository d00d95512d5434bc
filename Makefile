# Everything runs inside .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src/actup/_native -type f) CMakeLists.txt pyproject.toml

.PHONY: demo test lint format bench sanitize clean

demo: $(VENV)/installed
	$(BIN)/python examples/demo.py --out out

test: $(VENV)/installed lint
	$(BIN)/python -m pytest

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror src/actup/_native/* tests/native/*

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/actup/_native/* tests/native/*

bench: $(VENV)/benchmarks
	$(BIN)/python benchmarks/layout.py
	$(BIN)/python benchmarks/busy.py

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

$(VENV)/installed: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/benchmarks: $(VENV)/installed
	$(BIN)/pip install --quiet --editable ".[bench]"
	touch $@

clean:
	rm -rf $(VENV) build out
