# `make demo` shows the whole product; `make test` runs the tests. Both set up what they need.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DRILL_MINUTES ?= 5
TEST_PROCESSES ?= 3
RUN_STAMP := $(VENV)/.ready-run
DEV_STAMP := $(VENV)/.ready-dev

.PHONY: help setup demo test lint format bench drill drill-short drill-long screenshots references audit clean

help: ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(DEV_STAMP): $(RUN_STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

setup: $(DEV_STAMP) ## Make the virtual environment with everything for development

demo: $(RUN_STAMP) ## Simulator, bundled prompts, worker and export in one command; `thinkledger demo` keeps the dashboard up
	$(BIN)/thinkledger demo --exit

test: $(DEV_STAMP) ## Run the tests
	$(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=loadfile --no-loadscope-reorder

lint: $(DEV_STAMP) ## Lint, format check, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV_STAMP) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV_STAMP) ## Measure, and print one table with targets; single ones: python -m benchmarks --quick C D
	$(BIN)/python -m benchmarks

drill: $(DEV_STAMP) ## Every fault against real processes, forty minutes at most; the table goes into docs/reliability.md
	$(BIN)/python -m tests.drill --size full --minutes 35 --write

drill-short: $(DEV_STAMP) ## Five minutes of it, with every change
	$(BIN)/python -m tests.drill --size short --minutes $(DRILL_MINUTES)

drill-long: $(DEV_STAMP) ## The rest: hours of it
	$(BIN)/python -m tests.drill --size long

audit: $(DEV_STAMP) ## List the versions that run with us, and ask pip-audit about them where it can
	$(BIN)/python -m tests.audit

references: $(DEV_STAMP) ## Make the reference pages that come from the code anew
	$(BIN)/python -m tests.rules.references

screenshots: $(DEV_STAMP) ## Make the pictures of the documents anew; needs chromium
	$(BIN)/python -m tests.browser.gallery

clean: ## Remove what the targets made
	rm -rf $(VENV) demo build dist
