# Everything runs inside .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src/actup/_native -type f) CMakeLists.txt pyproject.toml

.PHONY: demo test lint format bench clean

demo: $(VENV)/installed
	$(BIN)/python examples/demo.py --out out

test: $(VENV)/installed lint
	$(BIN)/python -m pytest

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror src/actup/_native/*

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/actup/_native/*

bench: $(VENV)/benchmarks
	$(BIN)/python benchmarks/layout.py

$(VENV)/installed: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/benchmarks: $(VENV)/installed
	$(BIN)/pip install --quiet ".[bench]" 
	touch $@

clean:
	rm -rf $(VENV) build out
