# Two commands: `make demo` and `make test`. Each builds .venv first if it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MINIMUM := .venv-minimum
SMOKE := .venv-smoke
INSTALL := pip install --quiet --disable-pip-version-check

.PHONY: demo test test-minimum dist fuzz fuzz-files mutants lint format bench docs clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/$(INSTALL) --editable '.[dev]'
	touch $@

demo: $(VENV)/.installed  ## all methods on the built-in digits: a table and report.html
	$(BIN)/bochner compare digits --report report.html

# One process per core, each with one thread of BLAS: threads of several processes that
# spin against each other take many times as long.
PYTEST := python -m pytest -n auto --dist loadfile

test: $(VENV)/.installed  ## the whole test suite
	OPENBLAS_NUM_THREADS=1 $(BIN)/$(PYTEST)

CASES ?= 2000
fuzz: $(VENV)/.installed  ## odd rows, parameters, files and commands: CASES=100000
	CASES=$(CASES) $(BIN)/python -m pytest tests/contracts/test_fuzz.py tests/contracts/test_fuzz_files.py

fuzz-files: $(VENV)/.installed  ## forged model files, in processes that check memory
	$(BIN)/python tests/fuzz_models.py $(CASES) --cache .fuzz-cache

# mutmut does not know pytest 9, and works on a copy: an environment of its own
mutants:  ## changes to the numerical core that no test notices
	rm -rf .mutants && git clone --quiet . .mutants/clone
	$(PYTHON) -m venv .mutants/env
	cd .mutants/clone && ../env/bin/$(INSTALL) '.[demo,test]' 'mutmut>=3.8' 'pytest<9'
	cd .mutants/clone && OMP_NUM_THREADS=1 ../env/bin/mutmut run --max-children 2

lint: $(VENV)/.installed  ## style, types, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed  ## speed against the peers, as ratios from one run
	$(BIN)/python -m benchmarks all

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/$(INSTALL) --editable '.[docs]'
	touch $@

docs: $(VENV)/.docs  ## the documentation, to docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The oldest versions that pyproject.toml allows, so that its bounds are true.
$(MINIMUM)/.installed: pyproject.toml
	$(PYTHON) -m venv $(MINIMUM)
	$(MINIMUM)/bin/$(INSTALL) numpy==2.0.0 scipy==1.15.0 scikit-learn==1.6.0 \
		numba==0.61.0 threadpoolctl==3.5.0 pytest==8.3.0 polars==1.0.0 \
		pandas==2.2.2 dask==2025.1.0 distributed==2025.1.0 pyarrow==17.0.0 \
		onnx==1.17.0 onnxruntime==1.19.0 typer==0.20.0 rich==13.7.0 \
		plotly==6.0.0 jinja2==3.1.0 playwright==1.50.0 \
		--editable '.[test]'
	touch $@

test-minimum: $(MINIMUM)/.installed
	OPENBLAS_NUM_THREADS=1 $(MINIMUM)/bin/$(PYTEST) tests

# Wheel and sdist install where there is no source tree, and work.
dist: $(VENV)/.installed
	rm -rf dist $(SMOKE)
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv $(SMOKE)
	$(SMOKE)/bin/$(INSTALL) dist/*.whl
	cp tests/smoke.py $(SMOKE) && cd $(SMOKE) && bin/python -I smoke.py
	$(SMOKE)/bin/$(INSTALL) --force-reinstall --no-deps dist/*.tar.gz
	cd $(SMOKE) && bin/python -I smoke.py

clean:
	rm -rf .mutants .fuzz-cache $(VENV) $(MINIMUM) $(SMOKE) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/_build docs/api docs/gallery docs/sg_execution_times.rst
