# Two commands matter: `make serve` and `make test`. Each makes its own virtual environment.
PYTHON ?= python3
VENV   ?= .venv
PORT   ?= 4010
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: serve test prove judge-servers clean

serve: $(VENV)/core.stamp
	$(BIN)/wafermock serve --port $(PORT) $(ARGS)

test: $(VENV)/dev.stamp
	$(BIN)/python -m compileall -q src  # else every process that a test starts compiles what is new
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses auto $(ARGS)

# Every rule broken on purpose, and nothing told of the mock that keeps the contract: docs/proof.md.
prove: $(VENV)/dev.stamp
	cd tests && $(abspath $(BIN))/python -m proof $(ARGS)

# Servers that others wrote, installed, started and judged: docs/servers.md.
judge-servers: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.judged $(ARGS)

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Wafermock needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/core.stamp: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable .
	$(BIN)/python -m compileall -q src  # the first start shall be as quick as the next
	touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m compileall -q src
	touch $@ $(VENV)/core.stamp

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
