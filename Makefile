# Everything a fresh machine needs: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# tests share the cores; two workers on a two-core machine
WORKERS ?= 2

.PHONY: help demo test test-slow lint bench clean
.DEFAULT_GOAL := help

help:            ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(VENV)/base: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip -c constraints.txt
	$(BIN)/pip install --quiet -e . -c constraints.txt
	@touch $@

$(VENV)/test: $(VENV)/base
	$(BIN)/pip install --quiet -e '.[test]' -c constraints.txt
	@touch $@

demo: $(VENV)/base ## make a small world, evaluate four systems, write an HTML report
	$(BIN)/trueval demo -o demo-output

lint: $(VENV)/test ## check style and types
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

test: lint       ## run all checks and tests
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-slow: $(VENV)/test ## run the statistical and paper-scale tests in full
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

bench: $(VENV)/base ## measure speed and memory against other libraries (installs them in .venv-bench)
	$(PYTHON) benchmarks/run.py w1 w2 small

clean:           ## remove what make made
	rm -rf $(VENV) .venv-bench* demo-output build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
