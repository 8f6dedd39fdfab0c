# The tasks of the project; `make help` lists them. Each one sets up `.venv` first if it needs it.
SHELL := /bin/sh
PYTHON := .venv/bin/python
STAMP := .venv/.installed
WORKERS ?= 2
TEST_WORKERS ?= 4
TESTS ?= @tests/make-test.txt
SECONDS ?= 60
SEEDS ?= 200
FIRST ?= 0
# pytest caches the tests whose assertions it has rewritten; without that cache each worker needs ten seconds more.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help java setup hooks lock check lint units coverage test test-all demo bench interop aiokafka confluent-registry soak spark-versions kafka-versions kafka-new fuzz simulate mutants docs site release-dry-run clean

help: ## list the tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | awk -F'|' '{ printf "%-24s %s\n", $$1, $$2 }'

$(STAMP): pyproject.toml constraints.txt $(wildcard setup.py) $(shell find src -name '*.pyx' -o -name '*.pxd') tools/setup.sh
	@tools/setup.sh install
	@touch $@

java: $(STAMP)
	@tools/setup.sh java

setup: java ## set up .venv with the package and all extras, Java 17+ for Spark, and PostgreSQL, PgBouncer and Chromium for tests
	@tools/setup.sh databases
	@tools/setup.sh browser
	@$(if $(filter setup,$(MAKECMDGOALS)),tools/setup.sh next,:)

hooks: $(STAMP) ## install the git hooks: lint and messages at each commit, make check before a push
	.venv/bin/pre-commit install

lock: $(STAMP) ## write constraints.txt, the versions that make setup and CI install; UPGRADE=1 for the newest of each
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --extra dev --no-emit-package oncelog --no-annotate \
		--custom-compile-command "make lock" $(UPGRADE:%=--upgrade) --output-file constraints.txt pyproject.toml

check: $(STAMP) ## lint, types, layers, generated files, messages of commits and unit tests; about two minutes. FILES="src/oncelog/a.py ..." for what a change touches
ifdef FILES
	.venv/bin/ruff check $(filter %.py,$(FILES))
	.venv/bin/ruff format --check $(filter %.py,$(FILES))
	.venv/bin/typos $(FILES)
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PYTHON) -m pytest tests/unit/test_tidy.py tests/unit/test_shape.py $(sort $(wildcard $(patsubst src/oncelog/%,tests/unit/%,$(dir $(filter src/oncelog/%.py,$(FILES))))) $(filter tests/%.py,$(FILES))) -q -n $(WORKERS) --timeout 180
else
	@$(MAKE) --no-print-directory --jobs 2 lint units
endif

lint: $(STAMP)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/typos
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PYTHON) tools/generate.py --check
	$(PYTHON) -m tools.commit_messages

units: $(STAMP)
	$(PYTHON) -m pytest tests/unit -q -n $(WORKERS) --timeout 180

COVERED := broker/core broker/coordinator broker/log records protocol client spark schemas
coverage: $(STAMP) ## lines and branches of the packages with a floor that their unit and property tests cover; fails below a floor
	ONCELOG_SAME_EXAMPLES=100 $(PYTHON) -m pytest $(wildcard $(COVERED:%=tests/unit/%) $(COVERED:%=tests/property/%)) -q -n $(WORKERS) --cov --cov-report=
	.venv/bin/coverage json --quiet -o build/coverage.json
	$(PYTHON) -m tools.coverage_floors build/coverage.json

test: setup ## run tests of every area, with real Apache Kafka and Spark, in eight minutes; TESTS=tests/integration/cli for others, TEST_WORKERS=4 at a time (most of them wait)
	@mkdir -p artifacts
	$(PYTHON) -m pytest $(TESTS) -q -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder --durations 15; \
		status=$$?; echo $$status > artifacts/test.status; exit $$status

test-all: ## run all tests except the long forms
	@$(MAKE) --no-print-directory test TESTS=tests

demo: java ## run the main job on real data, with crashes, and prove the result; two minutes, or FLIGHTS=all for a year's flights
	.venv/bin/oncelog demo $(FLIGHTS:%=--flights %)

bench: setup ## measure throughput, latency and memory against Apache Kafka, Tansu and Spark's own connector; ONLY=requests for one part, ROUNDS=1 for one round, JSON=FILE to keep the figures
	@mkdir -p artifacts
	$(PYTHON) -m benchmarks $(ONLY:%=--only %) $(ROUNDS:%=--rounds %) $(JSON:%=--json %)

interop: setup ## test with clients that need their own tools: kafkajs, franz-go, kcat
	tests/compatibility/interop/run

aiokafka: $(STAMP) ## run aiokafka's own tests on oncelog's client; SOURCE=FOLDER with its tests if git cannot fetch them
	$(PYTHON) -m tests.compatibility.interop.aiokafka_suite $(SOURCE)

confluent-registry: $(STAMP) ## run the registry tests of Confluent's Python client on our registry; SOURCE=FOLDER with a checkout of it if git cannot fetch one
	$(PYTHON) -m tests.compatibility.interop.confluent_registry_suite $(SOURCE)

soak: setup ## run the long forms of the tests, such as crash matrices and limits; takes hours, TESTS=tests/integration/spark for some of them
	$(PYTHON) -m pytest $(if $(filter command line,$(origin TESTS)),$(TESTS),tests) -q -m soak --timeout 7200 --durations 15

spark-versions: setup ## run the tests of each PySpark from 3.5 on, in cached environments of 400 to 800 MB, and write the page of what holds
	ONCELOG_SPARK_VERSIONS_RESULTS=tests/compatibility/spark_versions/results.json $(PYTHON) -m pytest tests/compatibility/spark_versions -q -m "soak or not soak" --timeout 3000; \
		status=$$?; $(PYTHON) -m tools.document_spark_versions --print; exit $$status

kafka-versions: setup ## run the tests of each Apache Kafka from 2.8 on, 100 to 150 MB of jars each, and write the page of what holds
	ONCELOG_KAFKA_VERSIONS_RESULTS=tests/compatibility/kafka_versions/results.json $(PYTHON) -m pytest tests/compatibility/kafka_versions -q -m "soak or not soak" --timeout 3000; \
		status=$$?; $(PYTHON) -m tools.document_kafka_versions --print; exit $$status

kafka-new: setup ## compare a release of Apache Kafka with ours: messages, error codes, APIs, features, settings, conformance; VERSION=4.5.0
	$(PYTHON) -m tools.kafka_new $(VERSION)

fuzz: setup ## test hostile inputs, guided by coverage; SECONDS=600 for each target, ONLY=requests for one target
	$(PYTHON) -m tests.hostile.fuzz --seconds $(SECONDS) $(ONLY:%=--only %)

simulate: $(STAMP) ## simulate clients, nodes, disks and network with faults, in one thread and virtual time; SEEDS=1000, FIRST=0
	$(PYTHON) -m tests.simulation --seeds $(SEEDS) --first $(FIRST) --workers $(WORKERS)

mutants: $(STAMP) ## plant each bug of the catalogue and check that the simulation finds it; SEEDS=200
	$(PYTHON) -m tests.simulation --mutants --seeds $(SEEDS) --workers $(WORKERS)

docs: $(STAMP) ## regenerate the generated files and pages
	$(PYTHON) tools/generate.py

site: docs ## build the documentation as a site in build/site; fails on a dead link
	.venv/bin/mkdocs build --strict

release-dry-run: $(STAMP) ## build and check what a release would publish, and upload nothing; TAG=v0.2.0 for another tag than the version's
	$(PYTHON) -m tools.release --dry-run --build $(TAG:%=--tag %)

clean: ## remove everything that the tasks have created, including .venv
	rm -rf .venv build dist artifacts .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache spark-warehouse
	find src -name '*.egg-info' -prune -exec rm -rf {} +
	find src tests tools -name __pycache__ -prune -exec rm -rf {} +
	find src -name '*.so' -delete
