# Everything from a clean clone, on a machine with python3 (venv, pip), a C++ compiler and make. `make help` lists it.
# A step leaves a stamp in build/stamps and runs again only when what it reads has changed.

PYTHON ?= python3
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Steps run one after the other, each on all processors; only `checks` run in parallel.
ifndef AT_ONCE
.NOTPARALLEL:
endif

bin := .venv/bin
stamps := build/stamps
pip := $(bin)/python -m pip --disable-pip-version-check
# Not isolated, so that CMake's build folder stays valid. Settings go by environment: old pips know no --config-settings.
# Verbose, so that it shows how far ninja has come: a build takes minutes.
install := $(pip) install --verbose --no-build-isolation --no-deps --force-reinstall .
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
# Tools that the virtual environment brings come first: cmake, ninja, clang-format.
export PATH := $(CURDIR)/$(bin):$(PATH)

native := CMakeLists.txt pyproject.toml $(shell find cmake cpp bindings -type f)
sources := $(native) README.md tools/build_backend.py \
  $(shell find python -type f -not -name '*.pyc' -not -name '*.so' -not -name '*.pyi' -not -path '*/lib/*')
tests := $(shell find tests -type f -not -name '*.pyc')
formatted := $(shell find cpp bindings tests examples -name '*.cpp' -o -name '*.h' 2>/dev/null)

##@ What users want

.PHONY: demo
demo: $(if $(wildcard $(stamps)/full),$(stamps)/full,$(stamps)/light)  ## The main job on the built-in default (no torch)
	$(bin)/sentencode demo --out demo

.PHONY: test
test: $(stamps)/full  ## All tests, lint and docs
	@$(MAKE) --no-print-directory --jobs=2 AT_ONCE=2 checks
	@echo "all tests passed"

# C++ suites run as one process each: ctest starts one for each test, which takes longer than the test.
# Two at once, the longest first; their output is not held back, so that pytest shows how far it has come.
.PHONY: checks
# Most tests load torch before the package: its waiting threads would spin, and slow down parallel tests.
checks checks-ci test-python test-slow test-cpp test-old-processor test-processors: export OMP_WAIT_POLICY := passive
checks: test-python test-cpp lint docs

.PHONY: test-ci
test-ci: $(stamps)/full  ## What a change must pass besides: slow tests, the C++ tests under sanitizers, an old processor's kernels
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target AT_ONCE=2 checks-ci
	@echo "all tests of the continuous integration passed"

.PHONY: checks-ci
checks-ci: test-asan test-tsan test-slow test-old-processor

.PHONY: docs
docs: $(stamps)/docs  ## The site, in docs/_build/html

.PHONY: bench
bench: $(stamps)/full  ## The benchmarks, each as a ratio to its peers (long; SENTENCODE_DATA, an idle machine)
	$(bin)/python benchmarks/run.py

##@ Parts of `make test`

.PHONY: test-cpp
test-cpp: $(stamps)/full  ## GoogleTest suites
	timeout 600 build/full/tests/cpp/core_tests --gtest_brief
	timeout 600 build/full/tests/cpp/nn_tests --gtest_brief

# A separate environment on top of .venv: engines are large, and nothing else needs them.
.PHONY: test-scale
test-scale: $(stamps)/scale  ## Tests on Ray, Spark and Dask, which it installs (Spark needs java)
	OMP_WAIT_POLICY=passive .venv-scale/bin/python -m pytest tests --pyargs sentencode -m engine $(PYTEST_ARGS)
	.venv-scale/bin/python -m pytest tests/python/docs tests/notebooks tests/python/test_examples.py \
	  -k scale -m "not engine" $(PYTEST_ARGS)

# A separate environment: these packages bring plugins of pytest, and 1.4 GB. Warnings of examples are other libraries'.
.PHONY: test-contracts
test-contracts: contracts := .venv-contracts/bin/python -m pytest -o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=function
test-contracts: $(stamps)/contracts  ## Suites and tokenizers of LangChain, openai, mteb, model2vec and others, which it installs
	$(contracts) tests/python/contracts tests/python/test_sentence_transformers.py \
	  tests/notebooks -k 'not notebooks or static_models' $(PYTEST_ARGS)
	$(contracts) tests/python/text -k 'minilm or published' $(PYTEST_ARGS)
	$(contracts) tests/python/docs tests/python/test_examples.py -W ignore \
	  -k 'test_code_prints and (integrations or static_models or models.md) or in_another_library or topics' $(PYTEST_ARGS)

.PHONY: test-gpu
test-gpu: $(stamps)/full  ## Tests that need a GPU, and a build against a torch with CUDA
	$(bin)/python -m pytest tests --pyargs sentencode -m gpu $(PYTEST_ARGS)

.PHONY: test-asan
test-asan: $(stamps)/asan  ## Core suite under AddressSanitizer and UndefinedBehaviorSanitizer

.PHONY: test-tsan
test-tsan: $(stamps)/tsan  ## What several threads do at once, under ThreadSanitizer

.PHONY: test-python
test-python: $(stamps)/full  ## pytest: unit, property, documentation, notebook and package tests
	SENTENCODE_BUILD=$(CURDIR)/build/full $(bin)/python -m pytest tests --pyargs sentencode \
	  --numprocesses=$(JOBS) --maxprocesses=8 --dist=loadfile --durations=20 -m "not slow" $(PYTEST_ARGS)

# Slow tests that rarely fail alone: packaging from a source archive, every family under another condition.
.PHONY: test-slow
test-slow: $(stamps)/full  ## Tests that are marked slow (a part of `make test-ci`)
	SENTENCODE_BUILD=$(CURDIR)/build/full $(bin)/python -m pytest tests --pyargs sentencode \
	  --numprocesses=$(JOBS) --maxprocesses=8 --dist=loadfile --durations=20 -m "slow and not engine" $(PYTEST_ARGS)

# Kernels without FMA and with 4-lane registers, and a third thread: the most different from current processors, and
# every x86 can run them.
.PHONY: test-old-processor
test-old-processor: $(stamps)/full  ## The tests that compare rows most, with the kernels of an old processor
	$(bin)/python tools/processors.py old --threads 3 --cheap

.PHONY: lint
lint: $(stamps)/full  ## Formatters, ruff, mypy
	$(bin)/clang-format --dry-run --Werror $(formatted)
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy

##@ For developers

.PHONY: format
format: $(stamps)/tools  ## Formats C++ and Python
	$(bin)/clang-format -i $(formatted)
	$(bin)/ruff check --fix --quiet || true
	$(bin)/ruff format

.PHONY: tidy
tidy: $(stamps)/tools  ## clang-tidy on the core and its bindings
	cmake --preset dev -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(bin)/python --log-level=WARNING
	$(bin)/python tools/tidy.py --jobs $(JOBS) build/dev

.PHONY: test-processors
test-processors: $(stamps)/full  ## All numeric tests with the kernels of other processors, on one thread and three (long)
	$(bin)/python tools/processors.py --cpp build/full

.PHONY: test-asan-nn
test-asan-nn: $(stamps)/asan-nn  ## test-asan of what needs LibTorch (long)

##@ Wheels

# The environment has the tools that wheels need, and nothing else.
.PHONY: wheels
wheels: $(stamps)/wheel-tools  ## Wheels and source archives, in dist/ (TORCHES="2.13.0 2.15.0": the neural half for these)
	build/wheels/venv/bin/python tools/wheels/build.py light sdist --jobs $(JOBS) $(WHEEL_ARGS)
	for torch in $(TORCHES); do \
	  [ -d build/wheels/torch-$$torch ] || build/wheels/venv/bin/python -m pip install --no-deps --no-compile \
	    --target build/wheels/torch-$$torch torch==$$torch; \
	done
	[ -z "$(TORCHES)" ] || build/wheels/venv/bin/python tools/wheels/build.py nn --jobs $(JOBS) \
	  --torch $(addprefix build/wheels/torch-,$(TORCHES))

.PHONY: test-wheels
test-wheels:  ## Uses the wheels in a bare Debian without a compiler (root; debootstrap; SUITE=noble for another)
	tools/wheels/test.sh $(SUITE)

# The oldest and the newest torch that is supported are enough for a change of the neural half.
.PHONY: test-torch
test-torch: $(stamps)/full  ## Tests of the neural half, with the wheels in dist/ and another torch: TORCH=2.15.0
	$(PYTHON) -m venv .venv-torch
	echo "$$($(bin)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" > \
	  "$$(.venv-torch/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/main.pth"
	.venv-torch/bin/python -m pip --disable-pip-version-check install --ignore-installed torch==$(TORCH)
	.venv-torch/bin/python -m pip --disable-pip-version-check install --force-reinstall --no-deps --no-index \
	  --find-links dist sentencode sentencode-nn
	OMP_WAIT_POLICY=passive .venv-torch/bin/python -m pytest tests/python/{nn,models,training,distributed,evaluation} \
	  tests/python/test_extras.py --numprocesses=$(JOBS) --dist=loadfile -m "not slow" $(PYTEST_ARGS)

.PHONY: clean
clean:  ## Removes what was built; the virtual environment stays
	rm -rf build dist docs/_build demo
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

.PHONY: help
help:
	@awk -F ':.*## ' '/^##@/ { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile
	@echo

# --- Steps ------------------------------------------------------------------------------------------------------------

$(stamps)/system: tools/system-packages
	@mkdir -p $(@D)
	tools/system-packages $(PYTHON)
	@touch $@

.venv/pyvenv.cfg: | $(stamps)/system
	$(PYTHON) -m venv .venv

$(stamps)/build-tools: pyproject.toml tools/requirements.py .venv/pyvenv.cfg
	@mkdir -p $(@D)
	$(pip) install --no-compile -r <($(bin)/python tools/requirements.py build run plot)
	@touch $@

$(stamps)/tools: pyproject.toml tools/requirements.py $(stamps)/build-tools
	$(pip) install --no-compile -r <($(bin)/python tools/requirements.py test lint)
	@touch $@

$(stamps)/wheel-tools: pyproject.toml tools/requirements.py | $(stamps)/system
	@mkdir -p $(@D)
	$(PYTHON) -m venv build/wheels/venv
	build/wheels/venv/bin/python -m pip --disable-pip-version-check install -r \
	  <($(PYTHON) tools/requirements.py build wheels)
	@touch $@

# The light half: what runs without torch.
$(stamps)/light: $(sources) $(stamps)/build-tools
	SENTENCODE_NN=OFF SKBUILD_BUILD_DIR=build/light $(install)
	@touch $@

# Everything, and the C++ tests, in one build tree.
$(stamps)/full: $(sources) $(wildcard tests/cpp/CMakeLists.txt) $(shell find tests/cpp tests/fuzz -type f 2>/dev/null) $(stamps)/tools
	SENTENCODE_NN=ON SKBUILD_BUILD_DIR=build/full \
	  SKBUILD_CMAKE_DEFINE='SENTENCODE_BUILD_TESTS=ON;SENTENCODE_WERROR=ON;CMAKE_EXPORT_COMPILE_COMMANDS=ON' $(install)
	cp build/full/bindings/_*.pyi python/sentencode/  # for mypy and editors
	@touch $@

# What .venv has, and the packages of one more extra.
$(stamps)/scale: extra := engines
$(stamps)/contracts: extra := contracts
$(stamps)/scale $(stamps)/contracts: $(stamps)/%: pyproject.toml tools/requirements.py $(stamps)/full
	$(PYTHON) -m venv .venv-$*
	echo "$$($(bin)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" > \
	  "$$(.venv-$*/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/main.pth"
	.venv-$*/bin/python -m pip --disable-pip-version-check install -r <($(bin)/python tools/requirements.py $(extra))
	@touch $@

$(stamps)/asan: $(native) $(shell find tests/cpp tests/fuzz -type f 2>/dev/null) $(stamps)/build-tools
	cmake --preset asan -G Ninja --log-level=WARNING
	cmake --build --preset asan
	timeout 900 build/asan/tests/cpp/core_tests --gtest_brief
	ctest --preset asan -R '^fuzz' --timeout 300 --no-tests=error --progress
	@touch $@

# One process, which ends where threads wait for each other for ever.
$(stamps)/tsan: $(native) $(shell find tests/cpp -type f 2>/dev/null) $(stamps)/build-tools
	cmake --preset tsan -G Ninja --log-level=WARNING
	cmake --build --preset tsan
	timeout 300 build/tsan/tests/cpp/thread_tests --gtest_brief
	@touch $@

# Not a part of `test`: instrumented sources that include torch take long to compile. tests/cpp/CMakeLists.txt has the
# options for an uninstrumented LibTorch. One process, since each takes seconds to start.
$(stamps)/asan-nn: $(native) $(shell find tests/cpp -type f) $(stamps)/tools
	cmake --preset asan-nn -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(bin)/python --log-level=WARNING
	cmake --build --preset asan-nn
	timeout 1800 build/asan-nn/tests/cpp/nn_tests --gtest_brief
	@touch $@

$(stamps)/docs: $(sources) $(shell find docs -type f -not -path 'docs/_build/*') $(stamps)/full
	$(bin)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@touch $@
