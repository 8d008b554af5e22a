# Every target sets up what it needs in .venv (tools/dev); a run with nothing changed starts at once.

export TORCH ?= 2.11.0
export PYTHON ?=
PY := .venv/bin/python

.PHONY: help demo test bench build lint format sdist clean
.DEFAULT_GOAL := help

help:
	@echo "make demo            show what reduce_ops does (MODEL=file.safetensors: on your own model)"
	@echo "make test            run the tests (ARGS='-k accuracy -x' is passed to pytest)"
	@echo "make bench           run the benchmarks in benchmarks/ (ARGS= as above)"
	@echo "make build           compile in place"
	@echo "make lint            check formatting and Python code; make format corrects them"
	@echo "make sdist           write the source distribution to dist/"
	@echo "make clean           remove what was built (the environment is .venv)"
	@echo
	@echo "TORCH=$(TORCH)         the torch to use"
	@echo "PYTHON=              the Python to make .venv with (default: the first that fits, 3.12 preferred)"
	@echo "REDUCE_OPS_CUDA=0/1  without CUDA kernels / with them or not at all (default: if nvcc fits)"
	@echo "TORCH_CUDA_ARCH_LIST='9.0' or '8.0;9.0+PTX' or 'Hopper'   GPUs to build for"
	@echo "MAX_JOBS=            compilers at a time (default: what cores and memory allow)"

demo: build
	@$(PY) -m reduce_ops.demo $(if $(MODEL),"$(MODEL)")

test: build
	@$(PY) -m pytest tests -q $(ARGS)

bench: build
	@$(PY) -m pytest benchmarks -q $(ARGS)

build:
	@tools/dev build

lint:
	@tools/dev lint
	@tools/lint

format:
	@tools/dev lint
	@tools/lint --fix

sdist:
	@tools/dev sdist
	@$(PY) -m build --sdist >.venv/step.log 2>&1 || { cat .venv/step.log; exit 1; }
	@ls dist/*.tar.gz

clean:
	rm -rf build dist *.egg-info reduce_ops/*.so reduce_ops/_build_info.py
	rm -rf .pytest_cache .ruff_cache .hypothesis .benchmarks .venv/stamps/build
	find reduce_ops tests benchmarks tools -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
