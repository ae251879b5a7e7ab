# Everything that is done with this repository. Needs python3 (3.11 or newer), make and a package registry.

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
# More pytest workers than cores: tests of processes mostly wait. Bytecode is kept, also where the environment says otherwise:
# else each of them would compile everything again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 5 --dist worksteal

NODE := $(CURDIR)/.node
MINIFLARE := 4.20260426.0

.DEFAULT_GOAL := help
.PHONY: help run test test-cloudflare test-redis test-pgbouncer quick check format soak soak-hold bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/installed ## run the example shop until Ctrl-C
	@cd examples/first && exec $(BIN)/workbell dev --start open_shop

test: $(VENV)/installed-dev ## run all tests (PostgreSQL comes along; as root on Debian, Chromium too), or some: make test T=tests/unit/model/test_ids.py
	@$(if $(T),,$(BIN)/python tests/support/chromium.py)
	$(PYTEST) $(T)

test-cloudflare: $(VENV)/installed-dev $(NODE)/miniflare-$(MINIFLARE) ## run the tests of the D1 store, on D1 in miniflare (needs npm)
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal tests/cloudflare

test-redis: $(VENV)/installed-dev ## run the tests of the Redis queue, on a Redis that they start (from PATH, apt or a wheel)
	$(BIN)/python tests/support/redis_server.py
	$(BIN)/python -m pytest --numprocesses 3 --dist worksteal tests/redis

test-pgbouncer: $(VENV)/installed-dev ## run the tests of PostgreSQL through PgBouncer in transaction mode (from PATH or apt)
	$(BIN)/python tests/support/pgbouncer.py
	WORKBELL_TEST_POOLER=transaction $(BIN)/python -m pytest --numprocesses 4 --dist worksteal \
		tests/pgbouncer tests/contracts tests/integration tests/faults

quick: $(VENV)/installed-dev ## run the tests that need no other process: under a minute
	$(PYTEST) tests/unit tests/engine tests/testing_kit

check: $(VENV)/installed-dev ## lint, format, types and the arrows between the modules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed-dev ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

soak: $(VENV)/installed-dev ## the long versions of the tests of faults, properties, plans and contracts
	WORKBELL_SOAK=1 $(PYTEST) --timeout 3600 tests/faults tests/property tests/plans tests/engine \
		tests/integration/test_example_socket_store.py

soak-hold: $(VENV)/installed-dev ## constant load on PostgreSQL, an hour without and an hour with a session idle in transaction
	$(BIN)/python benchmarks/growth.py --hold --minutes 60 --after 10

bench: $(VENV)/installed-dev ## against raw SQL; how late ticks are; cron against its peers; worker processes; events; HTTP; the dashboard; growth (45 minutes); capacity
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/ticks.py
	$(BIN)/python benchmarks/cron.py
	$(BIN)/python benchmarks/workers.py
	$(BIN)/python benchmarks/permits.py
	$(BIN)/python benchmarks/patterns.py
	$(BIN)/python benchmarks/events.py
	$(BIN)/python benchmarks/http_api.py
	$(BIN)/python benchmarks/dashboard.py
	$(BIN)/python benchmarks/growth.py --filled --dead-heads 1000000
	$(BIN)/python benchmarks/growth.py --hold --minutes 20
	$(BIN)/python benchmarks/capacity.py

clean: ## remove what was made here
	rm -rf $(VENV) $(NODE) dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis bench-results
	rm -f examples/first/shop.db* examples/first/app.db*
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# Scripts of packages are not run: the programs in them come as packages of their own.
$(NODE)/miniflare-$(MINIFLARE):
	@command -v npm >/dev/null && command -v node >/dev/null \
		|| { echo "make: test-cloudflare needs Node.js 20 or newer and npm; on Debian: apt install nodejs npm" >&2; exit 1; }
	@mkdir -p $(NODE)
	npm install --prefix $(NODE) --no-audit --no-fund --no-save --no-package-lock --ignore-scripts --loglevel error \
		miniflare@$(MINIFLARE)
	@touch $@

# A stamp is newer than what it was made from, so that nothing is installed twice.

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "make: $(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
		|| { echo "make: $(PYTHON) cannot make a venv; on Debian: apt install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[server,webhooks]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[postgres,dev]'
	@touch $@ $(VENV)/installed
