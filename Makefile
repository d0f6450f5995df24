# Each target sets up what it needs: `make demo` and `make test` work in a fresh clone.
VENV := .venv
BIN := $(VENV)/bin
JAVA := . tools/java.sh

.PHONY: setup demo test lint audit docs bench bench-peers fuzz mutants soak clean

setup: $(VENV)/.ready
	@$(JAVA)

$(VENV)/.ready: requirements.lock pyproject.toml tools/setup.sh
	@tools/setup.sh $(VENV)

demo: setup
	@$(JAVA) && $(BIN)/python examples/demo.py

test: setup
	@$(JAVA) && $(BIN)/python tools/run_tests.py

lint: setup
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

audit: build/audit/.ready
	@build/audit/bin/pip-audit -r requirements.lock --no-deps --disable-pip --strict

build/audit/.ready:
	@python3 -m venv build/audit && build/audit/bin/pip install --quiet pip-audit && touch $@

docs: setup
	@$(BIN)/mkdocs build --strict --quiet && echo "site/index.html"

bench: setup
	@$(JAVA) && $(BIN)/python -m benchmarks

bench-peers: setup
	@$(JAVA) && $(BIN)/python -m benchmarks.environments && $(BIN)/python -m benchmarks peers

fuzz: setup
	@$(JAVA) && $(BIN)/python -m tests.fuzz

mutants: setup
	@$(BIN)/python -m tests.mutants

soak: setup
	@$(JAVA) && $(BIN)/python -m tests.soak && $(BIN)/python -m tests.soak --kafka
	@$(JAVA) && $(BIN)/python -m tests.soak --families windows,sessions,positions
	@$(BIN)/python -m tests.soak --flat --events 10000000

clean:
	@rm -rf build site $(VENV)
