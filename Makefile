# Everything a fresh machine needs: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CONSTRAINTS ?= constraints-hashes.txt
# tests share the cores; two workers on a two-core machine
WORKERS ?= 2
# what answers within two minutes on two idle cores, by CPU time measured for each folder
QUICK   := tests/test_architecture.py tests/data tests/design tests/oracles tests/report tests/splits tests/evaluation/groups tests/propensity tests/facts
COVER   := --cov --cov-report=

.PHONY: help demo study test test-quick test-adapters test-slow coverage lint fuzz mutants bench bench-query study-table coverage-table claims-table corrections-table corrections-complete-table operating-figures clean docs
.DEFAULT_GOAL := help

help:            ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

# Every file that is installed has a hash in $(CONSTRAINTS); CONSTRAINTS=constraints.txt takes any file of these versions.
# A folder has no hash: what the project needs is installed first, and the project after it. An older pip does not take
# hashes from constraints, but from requirements it does: with that it installs the pip that can.
$(VENV)/base: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	sed -n '/^pip==/,/[^\\]$$/p' $(CONSTRAINTS) > $(VENV)/pip.txt
	$(BIN)/pip install --quiet -r $(VENV)/pip.txt
	$(BIN)/python .ci/dependencies.py > $(VENV)/needed.txt
	$(BIN)/pip install --quiet -r $(VENV)/needed.txt -c $(CONSTRAINTS)
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/test: $(VENV)/base
	$(BIN)/python .ci/dependencies.py test docs > $(VENV)/needed.txt
	$(BIN)/pip install --quiet -r $(VENV)/needed.txt -c $(CONSTRAINTS)
	@touch $@

# the demo's report has pictures
$(VENV)/charts: $(VENV)/base
	$(BIN)/python .ci/dependencies.py charts > $(VENV)/needed.txt
	$(BIN)/pip install --quiet -r $(VENV)/needed.txt -c $(CONSTRAINTS)
	@touch $@

$(VENV)/docs: $(VENV)/base
	$(BIN)/python .ci/dependencies.py docs > $(VENV)/needed.txt
	$(BIN)/pip install --quiet -r $(VENV)/needed.txt -c $(CONSTRAINTS)
	@touch $@

# RecTools, Cornac, RePlay and recommenders ask for other versions than the tests do: they have a place of their own
.venv-adapters/made: constraints-adapters.txt pyproject.toml
	$(PYTHON) -m venv .venv-adapters
	.venv-adapters/bin/pip install --quiet --no-compile --no-deps -r constraints-adapters.txt -e .
	@touch $@

demo: $(VENV)/charts ## make a small world, evaluate four systems, write an HTML report
	$(BIN)/trueval demo -o demo-output

# the server of user studies
$(VENV)/study: $(VENV)/base
	$(BIN)/python .ci/dependencies.py study > $(VENV)/needed.txt
	$(BIN)/pip install --quiet -r $(VENV)/needed.txt -c $(CONSTRAINTS)
	@touch $@

STUDY_PORT ?= 8000
study: $(VENV)/study ## serve an example of a user study on this machine (http://127.0.0.1:8000)
	@test -f study-output/study.toml || $(BIN)/trueval study new -o study-output --quiet
	$(BIN)/trueval study serve study-output/study.toml --port $(STUDY_PORT)

lint: $(VENV)/test ## check style and types
	$(BIN)/ruff check src tests benchmarks examples docs
	$(BIN)/ruff format --check src tests benchmarks examples docs
	$(BIN)/mypy

test: lint test-adapters ## run all checks and tests
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(addprefix --ignore=,$(QUICK))
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(COVER) $(QUICK)
	@echo "Lines that the quick tests run: $$($(BIN)/coverage report --format=total) % (make coverage: by all tests)"

test-quick: $(VENV)/test ## run the part of the tests that answers within two minutes
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(QUICK)

coverage: $(VENV)/test ## run all tests and tell which lines no test runs (takes half as long again as the tests)
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(COVER)
	$(BIN)/coverage report --skip-covered --show-missing

test-adapters: .venv-adapters/made ## test models of RecTools and Cornac, and presets, in their own environment
	.venv-adapters/bin/python -c "import cornac, rectools.metrics, replay.metrics, recommenders.evaluation.python_evaluation"
	.venv-adapters/bin/python -m pytest tests/recommenders/adapters tests/presets

test-slow: $(VENV)/test ## run the statistical and paper-scale tests in full
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

docs: $(VENV)/docs ## run the examples of the documentation and build its pages (docs/_build/html)
	$(BIN)/python -m sphinx -n -W --keep-going -q -E -d docs/_build/doctrees -b html docs docs/_build/html
	$(BIN)/python docs/_ext/check_offline.py docs/_build/html
	@echo "docs/_build/html/index.html"

FUZZ_CASES ?= 5000
FUZZ_SEED  ?= 1
fuzz: $(VENV)/test ## run all commands on thousands of spoiled files and options (FUZZ_CASES=5000 FUZZ_SEED=1)
	$(BIN)/python tests/fuzz/fuzz.py --cases $(FUZZ_CASES) --seed $(FUZZ_SEED)

MUTANTS      ?= 300
MUTANTS_SEED ?= 1
mutants: $(VENV)/test ## tell how many small wrong changes of the source the tests notice (MUTANTS=300 MUTANTS_SEED=1)
	$(BIN)/python tests/mutants/mutants.py --mutants $(MUTANTS) --seed $(MUTANTS_SEED) --workers $(WORKERS)

study-table: $(VENV)/test ## measure how quickly a user study is served to 200 people at once, for benchmarks/STUDY.md
	$(BIN)/python benchmarks/study_table.py -o benchmarks/STUDY.md

bench: $(VENV)/base ## measure speed and memory against other libraries (installs them in .venv-bench)
	$(PYTHON) benchmarks/run.py w1 w2 small bootstrap aspects catalogue

bench-query: $(VENV)/test ## measure trueval beside the polars query that people would write (5 minutes; QUERY=query-large)
	$(BIN)/python benchmarks/measure.py $(or $(QUERY),query)

coverage-table: $(VENV)/base ## measure how often intervals hold and tests err (20 minutes), for docs/coverage.md
	$(BIN)/python benchmarks/coverage_table.py -o docs/coverage.md

ROUNDS ?= 2
CM100K ?=
claims-table: $(VENV)/base ## measure how often the audit's answers are right (10 minutes; CM100K=FOLDER), for docs/claims.md
	$(BIN)/python benchmarks/claims_table.py --rounds $(ROUNDS) $(if $(CM100K),--cm100k $(CM100K)) -o docs/claims.md

SEEDS ?= 5
corrections-table: $(VENV)/base ## measure what helps at which depth in worlds with a known truth (10 minutes), for docs/corrections.md
	$(BIN)/python benchmarks/corrections_table.py --seeds $(SEEDS) -o docs/corrections.md

corrections-complete-table: $(VENV)/base ## measure more corrections of complete rankings (an hour), for docs/corrections-complete.md
	$(BIN)/python benchmarks/corrections_complete.py --seeds 20 -o docs/corrections-complete.md

WORLDS ?= 200
operating-figures: $(VENV)/base ## measure what the audit finds and how often it cries wolf (an hour), for docs/operating-figures.md
	$(BIN)/python benchmarks/operating_figures.py --worlds $(WORLDS) --workers $(WORKERS) -o docs/operating-figures.md

clean:           ## remove what make made
	rm -rf $(VENV) .venv-adapters .venv-bench* demo-output study-output docs/_build build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
