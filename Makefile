# What a newcomer and CI need. Everything is made in .venv; nothing is installed by hand.
VENV := .venv
PYTHON := $(VENV)/bin/python
CAPTURE ?= examples/node-pressure-k8s-1.36.jsonl.gz examples/late-joiners.jsonl.gz
DEMO_DB ?= chdb://leadsman-db
# a system's own interpreter is built with profile-guided optimization: one without takes a sixth longer
BASE_PYTHON ?= $(shell for each in /usr/bin/python3 python3; do \
	$$each -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$each && break; done)
NO_PYTHON := Leadsman needs Python 3.11 or newer with its module venv (Debian and Ubuntu: apt install python3-venv)
UV := $(VENV)/bin/uv pip
COMPILE := $(UV) compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
SECONDS ?= 60
WORKERS ?= 5
BESIDE := -n $(WORKERS) --dist loadgroup --no-loadscope-reorder --max-worker-restart=0
ENGINE ?= docker
EMBEDDED ?= no
IMAGE ?= leadsman:0.1.0
export PYTHONDONTWRITEBYTECODE := # or each process of the tests compiles them anew
LONG := -o faulthandler_timeout=0
FAULTS := tests/faults tests/integration/pipeline/test_behind.py
AUDITED := .lock/all.txt .lock/dev.txt .lock/setup.txt .lock/fuzz.txt .lock/audit.txt .lock/docs.txt

.PHONY: demo docs generate manifests quick test nightly oracle image wheel faults churn soak fuzz audit check bench bench-look bench-forecast scale lock clean

$(VENV)/.runtime: .lock/all.txt pyproject.toml
	@echo "setting up $(VENV) (about a minute, once)"
	@test -x $(PYTHON) || $(if $(BASE_PYTHON),$(BASE_PYTHON) -m venv $(VENV),{ echo "$(NO_PYTHON)" >&2; exit 1; })
	@$(PYTHON) -m pip install --quiet --require-hashes --no-deps -r .lock/setup.txt
	@$(UV) install --quiet --compile-bytecode --python $(PYTHON) --require-hashes --no-deps -r .lock/all.txt
	@$(UV) install --quiet --python $(PYTHON) --no-deps --no-build-isolation -e .
	@$(PYTHON) -m compileall -q common ingest streams sql leadsman
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime .lock/dev.txt
	@$(UV) install --quiet --compile-bytecode --python $(PYTHON) --require-hashes --no-deps -r .lock/dev.txt
	@touch $@

demo: $(VENV)/.runtime ## replay the examples into SQL and print what happened; CAPTURE=FILE for your own
	@$(VENV)/bin/leadsman replay $(CAPTURE) --db $(DEMO_DB)

check: $(VENV)/.dev ## format, lint, types, import rules, prose; changes nothing
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	PYTHONPATH=.:tests $(PYTHON) -m prose

$(VENV)/.docs: $(VENV)/.dev .lock/docs.txt
	@$(UV) install --quiet --python $(PYTHON) --require-hashes --no-deps -r .lock/docs.txt
	@touch $@

docs: $(VENV)/.docs ## build docs/ into site/; a broken link or anchor fails
	$(VENV)/bin/zensical build --strict --clean

generate: $(VENV)/.dev ## write every file that is derived from the code; a test compares them
	PYTHONPATH=.:tests $(PYTHON) -m generate

manifests: $(VENV)/.dev ## write deploy/kubernetes from the Helm chart; builds Helm once into ~/.cache; a test compares them
	PYTHONPATH=.:tests $(PYTHON) -m components.chart

quick: $(VENV)/.dev ## what a changed line breaks, within a minute: no engine, no component
	LEADSMAN_PROFILE=quick $(PYTHON) -m pytest -o faulthandler_timeout=0 -n 2 --dist loadgroup --no-loadscope-reorder -m "not engine and not components and not costly and not night" tests/unit tests/contract tests/scenarios tests/fuzz

test: $(VENV)/.dev ## every promise, against real components; builds these once into ~/.cache (10 minutes or more)
	PYTHONPATH=tests $(PYTHON) -m components prepare
	$(PYTHON) -m pytest $(BESIDE) -m "not night" --durations 10

nightly: $(VENV)/.dev ## the long forms too: faults, stories in real time, 10,000 cases of each oracle, a virtual machine, fuzz
	PYTHONPATH=tests $(PYTHON) -m components prepare
	LEADSMAN_PROFILE=night LEADSMAN_ORACLE_CASES=10000 LEADSMAN_PULLS=long LEADSMAN_VM=short $(PYTHON) -m pytest $(BESIDE) $(LONG)
	$(MAKE) faults soak fuzz

image: ## build the image; ENGINE="podman" or "buildah" where there is no Docker, EMBEDDED=yes with the embedded engine
	$(ENGINE) build --build-arg EMBEDDED=$(EMBEDDED) --tag $(IMAGE) .

wheel: $(VENV)/.dev ## build the wheel, install it into empty environments, and replay an example from it
	$(PYTHON) -m pytest tests/wheel

oracle: $(VENV)/.dev ## 10,000 cases of each oracle: our rules against Kubernetes' own packages; writes into docs/accuracy.md
	LEADSMAN_ORACLE_CASES=10000 LEADSMAN_ORACLE_PAGE=docs/accuracy.md $(PYTHON) -m pytest $(LONG) tests/oracle

faults: $(VENV)/.dev ## the long form of tests/faults: half an hour of outages, pauses and kills; writes tests/faults/REPORT.md
	@rm -f $(VENV)/faults.jsonl
	LEADSMAN_FAULTS=long LEADSMAN_FAULTS_RESULTS=$(VENV)/faults.jsonl $(PYTHON) -m pytest $(BESIDE) $(LONG) $(FAULTS)
	PYTHONPATH=.:tests $(PYTHON) -m faults.report $(VENV)/faults.jsonl > tests/faults/REPORT.md

churn: $(VENV)/.dev ## nodes that live an hour each, CHURN="20000 500": so many, so many at once; writes tests/faults/churn.jsonl
	PYTHONPATH=.:tests $(PYTHON) -m faults.churn $(CHURN) > tests/faults/churn.jsonl

soak: $(VENV)/.dev ## all parts for an hour while everything breaks at random; writes tests/faults/soak.jsonl
	LEADSMAN_SOAK=3600 $(PYTHON) -m pytest $(LONG) tests/faults/test_soak.py

$(VENV)/.fuzz: $(VENV)/.dev .lock/fuzz.txt
	@$(UV) install --quiet --python $(PYTHON) --require-hashes --no-deps -r .lock/fuzz.txt
	@touch $@

fuzz: $(VENV)/.fuzz ## look for inputs that break tests/fuzz; SECONDS=60 a target, TARGETS="yaml dump" for some
	PYTHONPATH=.:tests $(PYTHON) -m fuzz --seconds $(SECONDS) --corpus $(VENV)/fuzz $(TARGETS)

$(VENV)/.audit: $(VENV)/.runtime .lock/audit.txt
	@$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) $(VENV)/audit
	@$(UV) install --quiet --python $(VENV)/audit/bin/python --require-hashes --no-deps -r .lock/audit.txt
	@touch $@

audit: $(VENV)/.audit ## which locked versions are known to be vulnerable today, and how old that knowledge is; asks a service
	@PYTHONPATH=tests $(VENV)/audit/bin/python -m audit $(AUDITED)

bench: $(VENV)/.dev ## ratios, measured in one run
	$(PYTHON) -m tests.bench

bench-look: $(VENV)/.dev ## CPU time until `leadsman look` has printed what is wrong, by stage; MORE=--growth for its growth
	PYTHONPATH=.:tests $(PYTHON) -m tests.bench.first_answer $(MORE)

bench-forecast: $(VENV)/.dev ## how good forecasts are, against predict_linear; writes docs/forecasts.md
	PYTHONPATH=.:tests $(PYTHON) -m bench.forecast > docs/forecasts.md

scale: $(VENV)/.dev ## how large it can get, up to an hour, on a machine for itself; writes tests/bench/SCALE.md
	PYTHONPATH=.:tests $(PYTHON) -m bench.scale

lock: $(VENV)/.dev ## write .lock anew from pyproject.toml
	$(COMPILE) --all-extras --group dev pyproject.toml -o .lock/dev.txt
	$(COMPILE) --constraint .lock/dev.txt pyproject.toml -o .lock/runtime.txt
	$(COMPILE) --constraint .lock/dev.txt --extra agent --extra otlp pyproject.toml -o .lock/image.txt
	$(COMPILE) --constraint .lock/dev.txt --all-extras pyproject.toml -o .lock/all.txt
	$(COMPILE) .lock/setup.in -o .lock/setup.txt
	for group in fuzz audit docs; do $(COMPILE) --constraint .lock/dev.txt --group $$group -o .lock/$$group.txt; done

clean: ## remove what make made
	rm -rf $(VENV) leadsman-db site .cache
