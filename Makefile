# PixivFlow. Needs make and Python 3.11 or newer; everything else goes into $(VENV). `make` alone prints what there is.
#
# The recipes call small programs in scripts/ instead of listing files as targets: make cannot name files with spaces
# in their paths, and a checkout may lie anywhere.

SHELL := /bin/sh
VENV ?= .venv
# A Python of your choice; empty means: the newest known one that is found.
PYTHON ?=
# `make serve CONFIG=path/to/config.json`
CONFIG ?=
# `make test ARGS='tests/unit -k job'`: more arguments for pytest, ruff's targets or the bench
ARGS ?=
# How many tests run at once: a number, auto, or 0 for one after another in one process
PARALLEL ?= auto
# `make faults SCALE=10`: how many times more points the fault tests try
SCALE ?= 1

export VENV PYTHON CONFIG SCALE PARALLEL
# What a shell may carry over from another project would otherwise decide what our interpreter imports.
unexport PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX

ENSURE := sh scripts/ensure-env.sh
RUN := "$$VENV/bin/python"
GENERATE := for program in scripts/gen_*.py; do $(RUN) "$$program" || exit 1; done

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench faults fuzz peers serve docs clean

help:  ## show this list
	@echo "make TARGET [VENV=.venv] [PYTHON=python3.12] [ARGS=...]"
	@echo
	@sed -n 's/^\([a-z]*\):.*##  *\(.*\)$$/  \1|\2/p' Makefile | while IFS='|' read -r name text; do \
		printf '%-12s %s\n' "  $$name" "$$text"; done

demo:  ## install and run the whole main job against the built-in sandbox; ends 0 with a list of results
	@$(ENSURE) runtime
	@$(RUN) -m pixivflow demo $(ARGS)

test:  ## run the whole test suite, except the comparison with other downloaders
	@$(ENSURE) full
	@$(RUN) -m pytest -m "not peers" -n "$$PARALLEL" --dist worksteal $(ARGS)

lint:  ## check style, types, room borders, and the promises of the files themselves
	@$(ENSURE) full
	@$(RUN) scripts/lint.py $(ARGS)

format:  ## rewrite the code in the project's format, and the generated pages
	@$(ENSURE) full
	@$(RUN) -m ruff format .
	@$(GENERATE)

bench:  ## measure, and print one JSON document (progress goes to stderr)
	@$(ENSURE) full >&2
	@$(RUN) scripts/bench.py $(ARGS)

faults:  ## run the fault tests; SCALE=10 tries ten times as many points
	@$(ENSURE) full
	@$(RUN) -m pytest tests/faults --scale "$$SCALE" $(ARGS)

fuzz:  ## send 20,000 requests made from the OpenAPI document to a live server; SCALE=2 sends twice as many
	@$(ENSURE) full
	@$(RUN) -m pytest tests/acceptance/test_schemathesis.py --scale "$$((40 * SCALE))" $(ARGS)

peers:  ## let stock gallery-dl and pixivpy3 download from the sandbox (installs them apart)
	@$(ENSURE) full
	@$(RUN) -m pytest tests/peers -m peers $(ARGS)

serve:  ## run the server: make serve CONFIG=config.json
	@$(ENSURE) runtime
	@if [ -n "$$CONFIG" ]; then exec $(RUN) -m pixivflow serve --config "$$CONFIG" $(ARGS); \
	else exec $(RUN) -m pixivflow serve $(ARGS); fi

docs:  ## write the pages and files that are generated from the code
	@$(ENSURE) full
	@$(GENERATE)

clean:  ## remove caches and build results; the virtual environment and your data stay
	@rm -rf build dist .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
