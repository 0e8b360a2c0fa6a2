# Everything works from a fresh clone with Python >= 3.11 alone; what runs a live Spark needs Java as well.
#
#   make demo     set up and run the main job: SQL over the flights of New York in 2013
#   make test     set up and run all tests          (make test ARGS="-k joins tests/engine")
#   make check    lint, types and imports: what CI checks before the tests
#
# A stamp in the virtual environment carries the checksum of pyproject.toml: while neither changes, set-up does nothing.

PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
VENV   ?= .venv
BIN    := $(VENV)/bin
KEY    := $(shell cksum < pyproject.toml | cut -d ' ' -f 1)
SOURCES := sqlfront planner engine connectors
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
ARGS   ?=
# Tests start hundreds of processes, each of which would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check lint format types imports docs doors oracle soak attack cluster beside wheel fuzz bench features clean

help:  ## Say what there is to make
	@sed -n 's/^\([a-z]*\):.*##\(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

# ---- set-up. An existing environment is kept if its Python is new enough, else built anew.

$(VENV)/.sqlfront-venv-$(KEY): pyproject.toml
	@if ! $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		if [ -z "$(PYTHON)" ]; then \
			echo "sqlfront needs Python >= 3.11 with the venv module; none was found (set PYTHON=...)" >&2; exit 1; fi; \
		echo "making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv --clear $(VENV); fi
	@$(PIP) install 'pip>=25.1'
	@rm -f $(VENV)/.sqlfront-*
	@touch $@

$(VENV)/.sqlfront-demo-$(KEY): $(VENV)/.sqlfront-venv-$(KEY)
	@echo "installing sqlfront and the demo's data into $(VENV)"
	@$(PIP) install --editable . --group demo
	@touch $@

$(VENV)/.sqlfront-dev-$(KEY): $(VENV)/.sqlfront-venv-$(KEY)
	@echo "installing sqlfront and its development tools into $(VENV) (some minutes the first time)"
	@$(PIP) install --editable . --group dev
	@touch $@

$(VENV)/.sqlfront-docs-$(KEY): $(VENV)/.sqlfront-dev-$(KEY)
	@echo "installing what builds the site into $(VENV)"
	@$(PIP) install --editable . --group docs
	@touch $@

# Harlequin pins its libraries, so that it has an environment of its own.
$(VENV)/.sqlfront-doors-$(KEY): $(VENV)/.sqlfront-dev-$(KEY)
	@echo "installing the libraries and programs that come in by the doors (some minutes the first time)"
	@$(PIP) install --editable . --group doors
	@$(BIN)/python -m venv $(VENV)/harlequin
	@$(VENV)/harlequin/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[harlequin]' pytest pytest-timeout hypothesis
	@$(BIN)/python -m venv $(VENV)/doors-sqlalchemy20
	@$(VENV)/doors-sqlalchemy20/bin/python -m pip --disable-pip-version-check --quiet install --editable . 'sqlalchemy>=2.0,<2.1' pytest pytest-timeout hypothesis
	@command -v chromium >/dev/null || { apt-get -qq update && apt-get -qq install -y chromium; } >/dev/null
	@touch $@

DEMO_READY := $(VENV)/.sqlfront-demo-$(KEY)
DEV_READY  := $(VENV)/.sqlfront-dev-$(KEY)
DOCS_READY := $(VENV)/.sqlfront-docs-$(KEY)
FEATURES_READY := $(VENV)/.sqlfront-features-$(KEY)
DOORS_READY := $(VENV)/.sqlfront-doors-$(KEY)

# pytest-bdd is a plugin of every pytest in its environment, and pysail is large.
$(VENV)/.sqlfront-features-$(KEY): $(VENV)/.sqlfront-dev-$(KEY)
	@echo "installing the feature files of pysail (some minutes the first time)"
	@$(BIN)/python -m venv $(VENV)/features
	@$(VENV)/features/bin/python -m pip --disable-pip-version-check --quiet install --editable . --group features
	@$(VENV)/features/bin/python -m pip --disable-pip-version-check --quiet install --no-deps pysail==0.7.2
	@touch $@

# ---- the README's two commands

demo: $(DEMO_READY)  ## Set up and run the main job on real data
	@$(BIN)/python demo/prepare.py
	@$(BIN)/sqlfront -f demo/flights.sql

# A worker that crashes ends the run: pytest-xdist 3.8 replaces it, and then waits for ever near the end.
test: $(DEV_READY)  ## Set up and run all tests
	$(BIN)/pytest -q -n auto --maxprocesses 4 --max-worker-restart 0 --dist loadgroup $(ARGS)

# ---- checks

check: lint types imports  ## What CI checks before the tests

lint: $(DEV_READY)  ## Style, by ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(DEV_READY)  ## Rewrite the sources in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(DEV_READY)  ## Types, by mypy
	$(BIN)/mypy

imports: $(DEV_READY)  ## Who may import whom, by import-linter
	$(BIN)/lint-imports --no-logo

# ---- by hand

docs: $(DOCS_READY)  ## Build the site from docs/ into build/site; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

doors: $(DOORS_READY)  ## Real libraries, notebooks, the site in Chromium, and long campaigns at the doors (needs Java)
	$(BIN)/pytest -q -m doors --ignore=tests/sqlfront/harlequin tests $(ARGS)
	$(VENV)/harlequin/bin/python -m pytest -q -m doors tests/sqlfront/harlequin $(ARGS)
	$(VENV)/doors-sqlalchemy20/bin/python -m pytest -q -m doors tests/sqlfront/sqlalchemy/test_suite.py $(ARGS)

oracle: $(DEV_READY)  ## Ask a live Spark for every stored answer again; 3,000 odd files, random DDL and 4,000 random queries beside it (needs Java)
	@$(BIN)/python demo/prepare.py
	$(BIN)/python -m tests.oracle.complete --check tests/slt tests/oracle/notebooks tests/demo/flights.slt
	$(BIN)/python -m tests.tpch.complete --check
	$(BIN)/python -m tests.oracle.files.run --count 3000 --seed 16
	$(BIN)/python -m tests.oracle.ddl.run --count 60 --seed 1
	$(BIN)/python -m tests.oracle.campaign.run --count 4000 --seed 1
	$(BIN)/pytest -q -m "cluster and spark" tests/values tests/oracle

features: $(FEATURES_READY)  ## The feature files of the package pysail: same, refused, different (ARGS=--spark renews the baseline; needs Java)
	$(VENV)/features/bin/python -m tests.oracle.features.report $(ARGS)

soak: $(DEV_READY)  ## Ten thousand seeds of random jobs, and of random writes, with faults, on simulated members; all stored answers by durable jobs
	$(BIN)/pytest -q -m soak tests
	$(BIN)/python -m tests.cluster.members.chaos --seeds 10000 $(ARGS)
	$(BIN)/python -m tests.sqlfront.table_chaos --seeds 10000 $(ARGS)

attack: $(DEV_READY)  ## The whole attack suite: hostile traffic, hostile neighbours on disk, hard days (some minutes)
	$(BIN)/pytest -q -m "attack or not attack" tests/attack $(ARGS)

cluster: $(DEV_READY)  ## All tests of members in processes of their own, and on Spark's executors (needs Java)
	$(BIN)/pytest -q -s -m "cluster or not cluster" tests/cluster/launchers tests/cluster/members \
		tests/sqlfront/test_cluster_command.py tests/sqlfront/test_cluster.py tests/sqlfront/test_process_chaos.py \
		tests/sqlfront/test_handover_processes.py tests/sqlfront/test_backups.py tests/sqlfront/test_backup_kills.py \
		tests/sqlfront/test_backup_memory.py \
		tests/sqlfront/test_table_chaos.py tests/sqlfront/test_modification_faults.py \
		tests/sqlfront/test_direct_lane.py tests/sqlfront/test_large_values.py \
		tests/sqlfront/test_clients_of_members.py tests/sqlfront/test_keeper_takeover.py tests/sqlfront/test_bad_places.py \
		tests/sqlfront/test_member_directory.py tests/sqlfront/test_keeper_in_store.py \
		tests/sqlfront/test_cluster_chaos.py tests/sqlfront/test_merge_faults.py \
		tests/sqlfront/jobs/test_members.py tests/sqlfront/jobs/test_spread_tables.py \
		tests/sqlfront/jobs/test_adoption.py tests/sqlfront/jobs/test_standing_by.py \
		tests/sqlfront/jobs/test_member_outputs.py tests/sqlfront/jobs/test_member_kills.py $(ARGS)
	$(BIN)/pytest -q -m cluster tests/oracle/test_slt.py $(ARGS)
	$(BIN)/pytest -q -m "cluster and not spark" tests/connectors/spark $(ARGS)
	$(BIN)/pytest -q -m "cluster and not spark" tests/sqlfront/spark $(ARGS)
	$(BIN)/pytest -q -m "cluster and spark" tests/sqlfront/spark tests/connectors/spark $(ARGS)
	$(BIN)/pytest -q -s -m cluster tests/oracle/test_executors.py -k "tables or tpch" $(ARGS)

beside: $(DEV_READY)  ## Every stored query and TPC-H beside a live Spark, members on its executors (some ten minutes)
	$(BIN)/pytest -q -s -m cluster tests/oracle/test_executors.py $(ARGS)

wheel: $(DEV_READY)  ## A wheel in an empty environment, outside the checkout, by every launcher (needs Java)
	$(BIN)/python -m tests.packaging.wheel

fuzz: $(DEV_READY)  ## Hostile input at length: changed statements, deep and long ones, extremes, small archives, little memory, jobs (needs Java)
	$(BIN)/python -m tests.fuzz.statements --count 200000 $(ARGS)
	$(BIN)/python -m tests.fuzz.statements --count 3000 --seed 2 --spark
	$(BIN)/python -m tests.fuzz.depth --failures
	$(BIN)/python -m tests.fuzz.archives --count 200
	$(BIN)/python -m tests.fuzz.extremes --count 100 $(ARGS)
	$(BIN)/python -m tests.fuzz.memory_limits --count 300 $(ARGS)
	$(BIN)/python -m tests.fuzz.job_statements --count 300 $(ARGS)
	$(BIN)/python -m tests.fuzz.job_crowds --count 20 $(ARGS)
	$(BIN)/python -m tests.fuzz.cluster_sessions --minutes 10 --kills $(ARGS)
	$(BIN)/python -m tests.fuzz.ddl_threads --minutes 10 --leaving $(ARGS)
	$(BIN)/python -m tests.fuzz.job_hazards --count 100 $(ARGS)

bench: $(DEV_READY)  ## The peers side by side on TPC-H
	$(BIN)/python -m benchmarks.compare $(ARGS)

clean:  ## Remove caches and the demo's files; the environment stays
	rm -rf demo/work build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find $(SOURCES) tests benchmarks demo docs_build -name __pycache__ -type d -prune -exec rm -rf {} +
