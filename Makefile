# make up     an environment, mdmem in it, the daemon started
# make test   everything CI runs (scripts/check)
# make fix    what ruff can mend by itself

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: up down test fix clean

up: $(VENV)/installed
	@$(BIN)/mdmem up
	@echo "the command is $(abspath $(BIN))/mdmem: put it on your PATH with"
	@echo "  export PATH=\"$(abspath $(BIN)):\$$PATH\""

down:
	@$(BIN)/mdmem down

test: $(VENV)/installed-dev
	@PATH="$(abspath $(BIN)):$$PATH" scripts/check

fix: $(VENV)/installed-dev
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

clean:
	rm -rf $(VENV) .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mdmem needs Python 3.11 or newer; name one with: make PYTHON=python3.12 up")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml
	@echo "installing mdmem into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/bin/python pyproject.toml
	@echo "installing mdmem and what its tests need into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/installed
