# `make up`, `make demo`, `make test`: each sets up what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help up demo test bench check format docs lock clean

help: ## Show what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

up: $(READY) ## Start everything on this machine: Dagster UI, daemon, code location, HTTP API
	@exec $(BIN)/feed-assets up

demo: $(READY) ## The same with a local publisher of demo feeds; needs no internet
	@exec $(BIN)/feed-assets up --demo

test: $(READY) ## Run all tests, on DuckDB, on a real Postgres, in a real browser and on Celery workers
	@scripts/get-chromium
	@scripts/get-redis
	$(BIN)/python -m pytest -n 2

bench: $(READY) ## Measure the whole path beside other readers; some minutes
	$(BIN)/python -m benchmarks.throughput

check: $(READY) ## Lint, types, module map
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY) ## Write docs/reference/ anew from the code
	$(BIN)/python scripts/write_reference.py

lock: $(READY) ## Write requirements.lock anew from what is installed
	$(BIN)/python -m pip freeze --exclude-editable --exclude pip | sort -f > requirements.lock

clean: ## Remove the environment and caches, not your data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(READY): pyproject.toml requirements.lock
	@scripts/make-venv $(PYTHON) $(VENV)
	@touch $(READY)
