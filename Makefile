# Needs python3 >= 3.10 with its venv module; everything else goes into .venv by itself.
PYTHON = python3
VENV = .venv
PY = $(VENV)/bin/python
# Touched after a complete installation only, so an interrupted one is taken up again.
READY = $(VENV)/.ready

# Tests of clusters and of the dashboard often wait: one process more than there are cores keeps those busy.
JOBS = $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 7 ? n + 1 : 8)))

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -e 's/:.*## /|/' | awk -F'|' '{ printf "  make %-10s %s\n", $$1, $$2 }'

run: $(READY) ## open the dashboard on a sample, with a simulated cluster behind it
	$(VENV)/bin/placetui sample_configs/collocated.yaml --demo

test: lint types pytest ## lint, types and every test that is not slow

lint: $(READY) ## ruff: rules and formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(READY) ## mypy --strict on package and tests
	$(PY) -m mypy --strict

pytest: $(READY) ## the tests that are not slow, among them the import contract
	$(PY) -m pytest -m "not slow and not soak" -n $(JOBS) --dist loadfile --no-loadscope-reorder

test-slow: $(READY) ## the slow tests (pytest's 5 says that there are none: fine)
	$(PY) -m pytest -m "slow and not soak" -n 2 --dist loadfile --no-loadscope-reorder || test $$? -eq 5

soak: $(READY) ## long outages, lost nodes, strain of many rounds and all pictures: before a release
	$(PY) -m pytest -m soak

check: lint types ## lint, types and the import contract: the quick half of make test
	$(PY) -m pytest -q tests/house/test_imports.py

compat: $(READY) ## the tests on the oldest and newest Python, Textual and Ray that can be had here
	$(PY) tests/compat.py

bench: $(READY) ## run the benchmarks
	@for benchmark in benchmarks/*.py; do echo "== $$benchmark"; $(PY) "$$benchmark" || exit 1; done

dist: $(READY) ## build sdist and wheel into dist/
	$(PY) -m build

man: $(READY) ## write the man page to dist/placetui.1
	@mkdir -p dist
	$(PY) -m placetui.cli.manual > dist/placetui.1

clean: ## remove everything that make made
	rm -rf $(VENV) .compat dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find placetui tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(READY): pyproject.toml .ci/constraints.txt
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "placetui needs Python 3.10 or newer, and there is no '$(PYTHON)' here: install it, or name yours with 'make PYTHON=/path/to/python3'." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "placetui needs Python 3.10 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name a newer one with 'make PYTHON=python3.12'." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' comes without its venv module: on Debian and Ubuntu, 'apt install python3-venv' brings it." >&2; exit 1; }
	@echo "Setting up $(VENV): once, a minute or a few."
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint .ci/constraints.txt --editable '.[dev]'
	@touch $(READY)

.PHONY: help run test lint types pytest test-slow soak check compat bench dist man clean
