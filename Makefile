# The tasks of the project; `make help` lists them. Each sets up `.venv` first where it must.
SHELL := /bin/sh
PYTHON := .venv/bin/python
STAMP := .venv/.installed
WORKERS ?= 2
TEST_WORKERS ?= 5
TESTS ?= tests
SECONDS ?= 60
SEEDS ?= 200
FIRST ?= 0
# pytest keeps the tests that it has rewritten; without that each worker spends ten seconds more.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup check test demo bench interop aiokafka soak fuzz simulate mutants docs site clean

help: ## list the tasks
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1|\2/' | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

$(STAMP): pyproject.toml $(wildcard setup.py) $(shell find src -name '*.pyx' -o -name '*.pxd') tools/setup.sh
	@tools/setup.sh install
	@touch $@

setup: $(STAMP) ## .venv with the package and all extras; Java 17+ for Spark; Chromium for tests
	@tools/setup.sh java
	@tools/setup.sh browser

check: $(STAMP) ## lint, types, layers, unit tests, generated files: under a minute
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PYTHON) tools/generate.py --check
	$(PYTHON) -m pytest tests/unit -q -n $(WORKERS) --timeout 180

test: setup ## every test, real Apache Kafka and Spark included; TEST_WORKERS=5, for most of them wait; TESTS=tests/cli for some
	@mkdir -p artifacts
	$(PYTHON) -m pytest $(TESTS) -q -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder --durations 15; \
		status=$$?; echo $$status > artifacts/test.status; exit $$status

demo: setup ## the main job on real data, with crashes, and the proof: about five minutes
	.venv/bin/oncelog demo

bench: setup ## ONLY=requests for one part, ROUNDS=1 for one round; throughput, latency, memory: beside Apache Kafka, Tansu and Spark's own connector
	$(PYTHON) -m benchmarks $(ONLY:%=--only %) $(ROUNDS:%=--rounds %)

interop: setup ## clients that need tools of their own: kafkajs, franz-go, kcat
	tests/interop/run

aiokafka: $(STAMP) ## SOURCE=FOLDER of its tests, if git cannot fetch them: aiokafka's own tests on our client
	$(PYTHON) -m tests.interop.aiokafka_suite $(SOURCE)

soak: setup ## the long forms of the tests: crash matrices, limits; hours
	$(PYTHON) -m pytest tests -q -m soak --timeout 7200 --durations 15

fuzz: setup ## SECONDS=600 for each target, ONLY=requests for one: hostile inputs, guided by coverage
	$(PYTHON) -m tests.fuzz --seconds $(SECONDS) $(ONLY:%=--only %)

simulate: $(STAMP) ## SEEDS=1000 FIRST=0: clients, nodes, disks and network in one thread and virtual time, with troubles
	$(PYTHON) -m tests.simulation --seeds $(SEEDS) --first $(FIRST) --workers $(WORKERS)

mutants: $(STAMP) ## SEEDS=200: plant each bug of the catalogue; the simulation has to find it
	$(PYTHON) -m tests.simulation --mutants --seeds $(SEEDS) --workers $(WORKERS)

docs: $(STAMP) ## write the generated files and pages again
	$(PYTHON) tools/generate.py

site: docs ## the documentation as a site, in build/site; fails on a dead link
	.venv/bin/mkdocs build --strict

clean: ## remove what the tasks made, .venv included
	rm -rf .venv build dist artifacts .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache spark-warehouse
	find src -name '*.egg-info' -prune -exec rm -rf {} +
	find src tests tools -name __pycache__ -prune -exec rm -rf {} +
	find src -name '*.so' -delete
