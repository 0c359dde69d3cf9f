# What CI and people run. Everything is set up by itself in .venv, from Python 3.11 or newer.
# The system's Python first: CONTRIBUTING.md says why.
SUITABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell /usr/bin/python3 -c '$(SUITABLE)' 2>/dev/null && echo /usr/bin/python3 || echo python3)
VENV := .venv
# where Debian has nginx and pgbouncer; not on the PATH of ordinary users
export PATH := $(PATH):/usr/sbin
RUN := $(VENV)/bin/python
# twice quiet: old versions of pip warn of each index that lacks a library
PIP = $(RUN) -m pip install --quiet --quiet --disable-pip-version-check
PORT ?= 8000
# of tests: more than processors, for many of the tests wait
PROCESSES ?= 4
# Debian's servers that tests start, and how a module of tests that does so is recognised
SERVERS := nginx pgbouncer prometheus redis-server slurmctld slurmd xmlsec1
OF_SERVERS := tests\.(support\.(nginx|pooler|prometheus|sentinels|slurm)|runtime\.machines)|saml_identity_provider
# with bytecode: each process would compile all modules, and pytest rewrite all tests, again
PYTEST = PYTHONDONTWRITEBYTECODE= $(RUN) -m pytest -n $(PROCESSES) --dist loadfile --max-worker-restart 0 --durations=20 $(PYTEST_OPTIONS)

.PHONY: demo run test test-long test-root test-without-servers lint format contract docs site bench requirements screenshot film pictures notebook-pictures exchange-pictures snapshot browser servers wheel release

demo: $(VENV)/installed
	@echo "Starting Dask Observatory with a demo cluster …"
	@$(RUN) manage.py up --demo --port $(PORT)

run: $(VENV)/installed
	@$(RUN) manage.py up --port $(PORT)

test: $(VENV)/installed-dev node_modules/installed browser servers
	npm test --silent
	$(PYTEST)

# What needs root, or does something else under root.
test-root: $(VENV)/installed-dev browser servers
	$(PYTEST) -m root

# The modules that need Debian's servers, where none of them is on the PATH: such tests are skipped.
test-without-servers: $(VENV)/installed-dev
	@links=$$(mktemp -d) && trap 'rm -rf "$$links"' EXIT \
		&& { ln -s /usr/sbin/* /usr/bin/* "$$links" 2>/dev/null || true; } \
		&& rm -f $(SERVERS:%=$$links/%) \
		&& CI= PATH="$$links" $(PYTEST) $$(grep -rlE '$(OF_SERVERS)' tests --include='test_*.py')

test-long: $(VENV)/installed-dev browser servers
	$(PYTEST) -m long

lint: $(VENV)/installed-dev node_modules/installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/mypy
	npm run --silent check-format
	npm run --silent errors
	npm run --silent types
	$(RUN) -m observatory.config.contract --check

# Python, JavaScript and style sheets in the form that lint wants.
format: $(VENV)/installed-dev node_modules/installed
	$(VENV)/bin/ruff format .
	npm run --silent format

# The browser's contract with the server: columns of blocks, shared constants, types of the API.
contract: $(VENV)/installed-dev node_modules/installed
	$(RUN) -m observatory.config.contract

bench: $(VENV)/installed-dev browser
	$(RUN) -m benchmarks.measuring.table

# Generated documents and parts of documents.
docs: $(VENV)/installed-dev
	$(RUN) docs/scripts/make_wire_format.py
	$(RUN) docs/scripts/make_metrics.py
	$(RUN) docs/scripts/make_ready_made_rules.py
	$(RUN) docs/scripts/make_archive_format.py
	$(RUN) docs/scripts/make_sql_tables.py

# The documents as a site, in site/; fails where a link leads nowhere.
site: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build

screenshot: $(VENV)/installed-dev browser
	$(RUN) docs/scripts/make_screenshot.py

# A replay, for the README.
film: $(VENV)/installed-dev browser
	$(RUN) docs/scripts/make_film.py

# One of each tab of a timeline, and first screens, for docs/dashboards.md.
pictures: $(VENV)/installed-dev browser
	$(RUN) docs/scripts/make_pictures.py
	$(RUN) docs/scripts/make_first_screens.py

# Those of docs/notebook.md; JUPYTERLAB names the jupyter-lab of an environment with dask-labextension and anywidget.
notebook-pictures: $(VENV)/installed-dev browser
	$(RUN) docs/scripts/make_notebook_pictures.py

# Those of docs/ci.md and docs/exchange.md.
exchange-pictures: $(VENV)/installed-dev browser
	$(RUN) docs/scripts/make_exchange_pictures.py

wheel: $(VENV)/installed
	$(RUN) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# Version, changelog, wheel, sdist and site of a release; TAG=yes also commits and tags. Nothing is published.
release: $(VENV)/installed-dev
	@NO_MKDOCS_2_WARNING=1 $(RUN) deploy/release.py "$(VERSION)" $(if $(TAG),--tag)

# A backup of this version, which later ones are tested to migrate.
snapshot: $(VENV)/installed-dev
	mkdir -p tests/releases
	OBSERVATORY_TESTS_SNAPSHOT=tests/releases/$$($(RUN) -c "import observatory; print(observatory.__version__)").backup \
		$(RUN) -m pytest -n 0 -m long tests/runtime/test_backup.py -k the_one_that_was_backed_up

# The versions that are pinned now stay, as long as they fit: delete the files first to upgrade everything.
requirements:
	$(VENV)/bin/pip install --quiet uv
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --no-header --no-emit-index-url \
		--all-extras pyproject.toml -o requirements.txt
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --no-header --no-emit-index-url \
		--group dev -c requirements.txt -o requirements-dev.txt

# The browser tests drive Debian's Chromium; where it can't be installed they say so. Tests prefer the one
# without windows, benchmarks and pictures take the whole one.
browser:
	@command -v chromium-headless-shell >/dev/null && command -v chromium >/dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
			&& { apt-get install -y -qq --no-install-recommends chromium chromium-headless-shell >/dev/null 2>&1 \
				|| apt-get install -y -qq --no-install-recommends chromium >/dev/null; }; } \
		|| command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| echo "There is no Chromium here and it can't be installed: the browser tests will be skipped." >&2

# Debian's servers that tests run in front of Observatory, and in place of its embedded ones, the batch system
# whose jobs they observe, and the program with which the identity provider of tests signs.
servers:
	@missing=; \
		for each in nginx:nginx-light pgbouncer:pgbouncer prometheus:prometheus redis-server:redis-server slurmctld:slurm-wlm xmlsec1:xmlsec1; do \
			command -v $${each%%:*} >/dev/null || missing="$$missing $${each##*:}"; \
		done; \
		[ -z "$$missing" ] || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
			&& apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null; } \
		|| echo "Not here and not installable:$$missing. The tests with them will be skipped." >&2

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Dask Observatory needs Python 3.11 or newer, and this is " + sys.version.split()[0] + ": make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python requirements.txt
	@echo "Installing Dask Observatory and its libraries in $(VENV), which takes a minute or two …"
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.txt
	$(PIP) -r requirements-dev.txt
	@touch $@

node_modules/installed: package.json package-lock.json
	npm ci --silent --no-audit --no-fund
	@touch $@
