# Everything that is done with this repository. Needs python3 (3.11 or newer), make and a package registry.

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
# More pytest workers than cores: tests of processes mostly wait. Bytecode is kept, also where the environment says otherwise:
# else each of them would compile everything again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 5 --dist worksteal

NODE := $(CURDIR)/.node
MINIFLARE := 4.20260426.0

# Benchmarks have peers beside Workbell, so they have environments of their own.
VENV_BENCH := .venv-bench
NODE_BENCH := $(CURDIR)/.node-bench
GRAPHILE_WORKER := 0.17.3
NODE_POSTGRES := 8.23.1
BENCH := $(VENV_BENCH)/installed $(NODE_BENCH)/graphile-worker-$(GRAPHILE_WORKER)
BENCH_PYTHON := PYTHONDONTWRITEBYTECODE= $(CURDIR)/$(VENV_BENCH)/bin/python

.DEFAULT_GOAL := help
.PHONY: help run test test-cloudflare test-redis test-pgbouncer quick check format soak soak-hold bench bench-table bench-busy clean

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

bench: $(BENCH) $(VENV)/installed-dev ## all measurements: peers, CPU-bound handlers, raw SQL, ticks, cron, workers, events, HTTP, dashboard, growth, capacity
	$(BENCH_PYTHON) benchmarks/table.py
	$(BENCH_PYTHON) benchmarks/busy_handlers.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/ticks.py
	$(BIN)/python benchmarks/cron.py
	$(BIN)/python benchmarks/workers.py
	$(BIN)/python benchmarks/permits.py
	$(BIN)/python benchmarks/patterns.py
	$(BIN)/python benchmarks/events.py
	$(BIN)/python benchmarks/http_api.py
	$(BIN)/python benchmarks/dashboard.py
	$(BIN)/python benchmarks/first_visit.py
	$(BIN)/python benchmarks/growth.py --filled --dead-heads 1000000
	$(BIN)/python benchmarks/growth.py --hold --minutes 20
	$(BIN)/python benchmarks/capacity.py

bench-table: $(BENCH) ## Workbell, its peers and raw SQL in one table (needs npm), or part of it: make bench-table B="--rounds 1 --only latency"
	$(BENCH_PYTHON) benchmarks/table.py $(B)

bench-busy: $(VENV_BENCH)/installed ## CPU-bound handlers: drains, the latency of a neighbour and leases, beside peers; B=… as above
	$(BENCH_PYTHON) benchmarks/busy_handlers.py $(B)

clean: ## remove what was made here
	rm -rf $(VENV) $(VENV_BENCH) $(NODE) $(NODE_BENCH) dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis bench-results
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

$(NODE_BENCH)/graphile-worker-$(GRAPHILE_WORKER):
	@command -v npm >/dev/null && command -v node >/dev/null \
		|| { echo "make: bench-table needs Node.js 20 or newer and npm; on Debian: apt install nodejs npm" >&2; exit 1; }
	@mkdir -p $(NODE_BENCH)
	npm install --prefix $(NODE_BENCH) --no-audit --no-fund --no-save --no-package-lock --ignore-scripts --loglevel error \
		graphile-worker@$(GRAPHILE_WORKER) pg@$(NODE_POSTGRES)
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

$(VENV_BENCH)/made: | $(VENV)/made
	@$(PYTHON) -m venv $(VENV_BENCH)
	@touch $@

$(VENV_BENCH)/installed: $(VENV_BENCH)/made pyproject.toml benchmarks/requirements.txt
	$(CURDIR)/$(VENV_BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[postgres,server]' \
		--requirement benchmarks/requirements.txt
	@touch $@
