# `make` alone lists the targets. Needs GNU make, a POSIX shell and Python 3.11 or newer; everything else is installed
# into folders named .venv* here.

PYTHON ?= python3
# The oldest versions supported have no wheels for a newer Python.
PYTHON_OLDEST ?= python3.11
# Processes that the tests run in, at most eight.
WORKERS ?= auto
# More arguments for pytest or for smear train: make test ARGS="-k auction".
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PYTEST_PARALLEL = -m pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal

# Tested with these as well: the lower bounds in pyproject.toml, and the PettingZoo before the current one.
OLDEST := numpy==1.23.2 numba==0.57.0 llvmlite==0.40.0 gymnasium==1.0.0 pettingzoo==1.24.3 msgspec==0.18.0 pillow==10.1.0
PETTINGZOO_126 := pettingzoo==1.26.1

# Other people's libraries: `make test-interop` tests each NAME here, by tests/interop/test_NAME.py, with the extra NAME in
# an environment of its own, and PINS_NAME in place of what constraints.txt says of the same packages.
INTEROP := sb3 rllib rlcard torchrl tianshou agilerl ray openspiel
PINS_rllib := gymnasium==1.2.2
PINS_tianshou := filelock==3.32.7
PINS_agilerl := pettingzoo==1.26.1

# The last PufferLib whose source has all that its C environments are built from; later ones lack or download raylib.
PUFFERLIB := pufferlib==2.0.3

# The versions installed are those of constraints.txt, the build tools' too (newer pips read the second name for those).
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help train demo test check lint format docs test-nojit test-boundscheck test-oldest test-pettingzoo-1.26 test-interop bench-peers clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' Makefile
	@echo 'PYTHON=... names another Python than $(PYTHON), ARGS="..." adds arguments for pytest or for smear train.'

train: $(VENV)/.installed-train ## Install, then train a policy for about five minutes and judge it
	$(BIN)/smear train configs/train/schmier_small.toml --processes 2 $(ARGS)

demo: $(VENV)/.installed ## Install, then play and print a game of each kind and 2,000 deals of each
	@$(BIN)/smear demo

test: $(VENV)/.installed-test ## Install, then run the tests
	$(BIN)/python $(PYTEST_PARALLEL) $(ARGS)

check: lint test test-nojit ## All that a change has to pass: lint, format, types, tests, coverage

lint: $(VENV)/.installed-dev ## Look for mistakes, check format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev ## Put the code into its standard format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed ## Write the tables of docs anew from the code
	$(BIN)/python docs/generate.py

test-nojit: $(VENV)/.installed-dev ## Run the tests in plain Python and measure what they cover
	NUMBA_DISABLE_JIT=1 $(BIN)/python $(PYTEST_PARALLEL) -m "not slow and not jit" --cov --cov-report=term $(ARGS)

test-boundscheck: $(VENV)/.installed-test ## Run the tests of the rules with every array index checked
	NUMBA_BOUNDSCHECK=1 $(BIN)/python $(PYTEST_PARALLEL) -m boundscheck tests $(ARGS)

test-oldest: .venv-oldest/.installed ## Run the environment tests with the oldest versions supported (Python 3.11)
	.venv-oldest/bin/python $(PYTEST_PARALLEL) -m environment tests $(ARGS)

test-pettingzoo-1.26: .venv-pettingzoo-1.26/.installed ## Run the environment tests with PettingZoo 1.26
	.venv-pettingzoo-1.26/bin/python $(PYTEST_PARALLEL) -m environment tests $(ARGS)

test-interop: $(INTEROP:%=test-interop-%) ## Run the recipes for other libraries (test-interop-sb3: only that one)

$(INTEROP:%=test-interop-%): test-interop-%: .venv-interop-%/.installed
	.venv-interop-$*/bin/python -m pytest tests/interop/test_$*.py $(ARGS)

bench-peers: .venv-peers/.installed ## Compare the speed with other projects', on one core (benchmarks/README.md)
	.venv-peers/bin/python benchmarks/peers.py $(ARGS)

clean: ## Remove what make and the tools it runs have made here
	rm -rf .venv .venv-oldest .venv-pettingzoo-1.26 .venv-interop-* .venv-peers build dist .coverage .coverage.* htmlcov
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find smear_env agents train examples tests -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call make_venv,FOLDER,PYTHON,VARIABLE): a virtual environment, unless one that works is there.
define make_venv
@if ! $(1)/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	command -v $(2) >/dev/null 2>&1 || \
		{ echo 'No $(2) here: install Python 3.11 or newer, or name one: make $(3)=/path/to/python ...' >&2; exit 1; }; \
	$(2) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(2) is $$($(2) -V 2>&1), but 3.11 or newer is needed: make $(3)=/path/to/python ..." >&2; exit 1; }; \
	$(2) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo '$(2) has no module venv: install it (Debian, Ubuntu: apt install python3-venv).' >&2; exit 1; }; \
	echo 'Setting up $(1) (minutes the first time, for the downloads)'; \
	$(2) -m venv --clear $(1); \
fi
endef

# $(call pin,FOLDER,PINS): installs with PINS in place of what constraints.txt says of the same packages.
define pin
@sed -e '' $(foreach pin,$(2),-e '/^$(firstword $(subst ==, ,$(pin)))==/d') constraints.txt > $(1)/constraints.txt
@printf '%s\n' $(2) >> $(1)/constraints.txt
PIP_CONSTRAINT=$(1)/constraints.txt $(1)/bin/python -m pip install -q -e '.[test-core]'
endef

# The marks that a set-up is done. A larger one holds the smaller ones.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(call make_venv,$(VENV),$(PYTHON),PYTHON)
	$(BIN)/python -m pip install -q -e .
	@touch $@

$(VENV)/.installed-train: pyproject.toml constraints.txt
	$(call make_venv,$(VENV),$(PYTHON),PYTHON)
	$(BIN)/python -m pip install -q -e '.[train]'
	@touch $(VENV)/.installed $@

$(VENV)/.installed-test: pyproject.toml constraints.txt
	$(call make_venv,$(VENV),$(PYTHON),PYTHON)
	$(BIN)/python -m pip install -q -e '.[test]'
	@touch $(VENV)/.installed $(VENV)/.installed-train $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt
	$(call make_venv,$(VENV),$(PYTHON),PYTHON)
	$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $(VENV)/.installed $(VENV)/.installed-train $(VENV)/.installed-test $@

.venv-oldest/.installed: pyproject.toml constraints.txt Makefile
	$(call make_venv,.venv-oldest,$(PYTHON_OLDEST),PYTHON_OLDEST)
	$(call pin,.venv-oldest,$(OLDEST))
	@touch $@

.venv-pettingzoo-1.26/.installed: pyproject.toml constraints.txt Makefile
	$(call make_venv,.venv-pettingzoo-1.26,$(PYTHON),PYTHON)
	$(call pin,.venv-pettingzoo-1.26,$(PETTINGZOO_126))
	@touch $@

$(INTEROP:%=.venv-interop-%/.installed): .venv-interop-%/.installed: pyproject.toml constraints.txt Makefile
	$(call make_venv,.venv-interop-$*,$(PYTHON),PYTHON)
	$(call pin,.venv-interop-$*,$(PINS_$*))
	PIP_CONSTRAINT=.venv-interop-$*/constraints.txt .venv-interop-$*/bin/python -m pip install -q -e '.[test-core,eval,$*]'
	@touch $@

# PufferLib may fail: that costs its rows only. -Bsymbolic: else its `step` is found in the C library, which has one.
.venv-peers/.installed: pyproject.toml constraints.txt benchmarks/requirements.txt Makefile
	$(call make_venv,.venv-peers,$(PYTHON),PYTHON)
	.venv-peers/bin/python -m pip install -q -e . -r benchmarks/requirements.txt
	-LDFLAGS=-Wl,-Bsymbolic .venv-peers/bin/python -m pip install -q --no-cache-dir --no-deps $(PUFFERLIB)
	@touch $@
