# Each target sets up what it needs in .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEV_INSTALLED := $(VENV)/.dev-installed

.DEFAULT_GOAL := help
# Cheap ones first; each goes on where it was broken off.
TABLES := links-planetoid nodes mask-kind links-blogcatalog nodes-blogcatalog mask-ratio links-ogb

.PHONY: run test test-slow check docs results-docs reproduce-all reproduce-sample format bench bench-serving bench-worth cora pretrain help clean

run: $(INSTALLED) ## Train on the embedded Cora: the paper's row beside its figures, and the default recipe
	$(BIN)/mgae train cora

test: $(DEV_INSTALLED) ## Run the tests (a few minutes), with line coverage of src
	$(BIN)/python -m pytest -n auto --maxprocesses=4 --dist=worksteal --cov --cov-report=term --cov-fail-under=90

test-slow: $(DEV_INSTALLED) ## Run the slow tests: whole trainings, faults, fuzzing, load; writes results/reliability.json
	MGAE_RECORD=1 $(BIN)/python -m pytest -m slow --timeout=7200

check: $(DEV_INSTALLED) ## Lint, check the format and the types, compare the tables in README with results/
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/results.py check
	$(BIN)/python -m tests.reliability check

docs: $(DEV_INSTALLED) ## Build the documentation with warnings as errors, check its links, and serve it
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	$(BIN)/python -m scripts.docsite.links build/site
	$(BIN)/python -m http.server --directory build/site --bind 127.0.0.1 8001

results-docs: $(INSTALLED) ## Write the tables in README, docs and results/ again from results/*.json
	$(BIN)/python scripts/results.py update
	$(BIN)/python -m tests.reliability update

reproduce-all: $(INSTALLED) ## Fill every table, cheap ones first (days on two cores); the same again goes on
	$(BIN)/mgae reproduce datasets
	for table in links-planetoid nodes; do $(BIN)/mgae reproduce $$table --protocol strict || exit; done
	for table in $(TABLES); do $(BIN)/mgae reproduce $$table || exit; done
	$(MAKE) results-docs

reproduce-sample: $(INSTALLED) ## Run ten random stored runs again, and compare every figure
	$(BIN)/python -m scripts.sample

format: $(DEV_INSTALLED) ## Put the code into its format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED) ## Measure speed; prints ratios
	$(BIN)/python -m benchmarks

bench-serving: $(DEV_INSTALLED) ## Measure recommendations: hidden edges, unseen nodes, a large graph, load
	$(BIN)/python -m benchmarks.serving

bench-worth: $(DEV_INSTALLED) ## Measure ours, heuristics and peers on hidden edges of real graphs (hours; resumable)
	$(BIN)/python -m benchmarks.worth
	$(BIN)/python -m benchmarks.worth --official

cora: $(INSTALLED) ## Derive the embedded Cora again from its source package
	$(BIN)/python scripts/build_cora.py

pretrain: $(INSTALLED) ## Train the shipped evidence model again (ten minutes; needs MGAE_DATA)
	$(BIN)/python -m scripts.pretrain

clean: ## Remove the environment and the caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*

help: ## Print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("mgae needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(DEV_INSTALLED): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@
