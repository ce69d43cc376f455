# `make demo` and `make test` each do all their own set-up on a machine with Python 3.11 and make.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check install clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes on the first run)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[all,test]"
	@touch $@

demo: install
	@$(BIN)/rag-pipeline demo

check: install
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

test: check
	@$(BIN)/pytest -n 2

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
