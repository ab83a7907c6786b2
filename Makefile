# The front door. CMakeLists.txt does the work; this file remembers the commands.
JOBS ?= $(shell nproc)
SETUP = @tools/setup.sh

help:
	@echo 'make demo      carry the example network to PyTorch and recognise a digit with it'
	@echo 'make build     the command and what make oracle asks beside it, in build/release/'
	@echo 'make test      build and run every test that needs no framework'
	@echo 'make wheel     the Python module, in build/wheel/'
	@echo 'make python    its tests, in an environment that has numpy and nothing else'
	@echo 'make batch     batches of models on a local Ray, and models behind URLs (FULL=1: the whole corpora)'
	@echo 'make notebook  what a notebook is shown, in a real kernel of Jupyter (PAGES=DIR keeps it)'
	@echo 'make types     mypy and pyright on the Python package and on the documents'"'"' programs'
	@echo 'make oracle    ask the real frameworks, random calls included (FULL=1: all of it; GRID=N: so many calls)'
	@echo 'make mutate    write known mistakes into models, change single weights, and ask convoy diff (COUNT=N)'
	@echo 'make asan      the tests under the address and undefined-behaviour sanitizers'
	@echo 'make tsan      eight threads that ask everything of the library at once, under the thread sanitizer'
	@echo 'make fuzz      libFuzzer on every reader of files, RUNS inputs each (5000000; RUNS=2000 is a quick look)'
	@echo 'make lint      include directions, formatting, names (TIDY=1: clang-tidy too)'
	@echo 'make alone     every source by itself: includes and shadowed names, which batches of sources hide'
	@echo 'make format    rewrite the sources the way make lint wants them'
	@echo 'make docs      the documents as a site, in build/docs/site/'
	@echo 'make bench     time convoy against cp'
	@echo 'make setup     install the Debian packages that are missing'
	@echo 'make clean     remove build/'

setup:
	$(SETUP) build lint oracle

configure:
	$(SETUP) build
	@cmake --preset release --log-level=WARNING

build: configure
	@cmake --build --preset release -j$(JOBS) --target convoy golden schemas conformance

test: configure
	@cmake --build --preset release -j$(JOBS)
	@$(MAKE) --no-print-directory python
	@ctest --preset release -j$(JOBS)

# The wheel holds what was built already.
wheel: configure
	$(SETUP) python
	@cmake --build --preset release -j$(JOBS) --target convoy convoy_shared
	@python/wheel.sh build/release build/wheel

python: wheel
	@tests/python/run.sh build/wheel

batch: wheel
	@tests/batch/run.sh build/wheel

# What a notebook shows, in a real kernel; PAGES=DIR keeps the pages.
notebook: wheel
	@tests/notebook/run.sh build/wheel $(if $(PAGES),--pages $(PAGES))

types:
	$(SETUP) python
	@tools/types.sh

asan:
	$(SETUP) build
	@cmake --preset asan --log-level=WARNING
	@cmake --build --preset asan -j$(JOBS)
	@ctest --preset asan -j$(JOBS)

tsan:
	$(SETUP) build
	@cmake --preset tsan --log-level=WARNING
	@cmake --build --preset tsan -j$(JOBS)
	@build/tsan/threads

fuzz:
	$(SETUP) build fuzz
	@cmake --preset fuzz --log-level=WARNING
	@cmake --build --preset fuzz -j$(JOBS)
	@RUNS=$(or $(RUNS),5000000) fuzz/run.sh

demo: configure
	@cmake --build --preset release -j$(JOBS) --target convoy
	@tools/demo.sh

oracle: build wheel
	$(SETUP) oracle
	@tools/oracle.sh

docs: build
	$(SETUP) docs
	@tools/site.sh

COUNT ?= 1000
mutate: build
	$(SETUP) oracle
	@corpus=$${CONVOY_SHARED:-../shared}/corpus; [ -d "$$corpus" ] || corpus=tests/data/corpus; \
	  python=$$(tools/oracle_venv.sh); \
	  for kind in mutate mutate_weights; do \
	    $$python tests/oracle/$$kind.py build/release/convoy $$corpus/keras $$corpus/torch $$corpus/onnx \
	      --count $(COUNT) --seed $(or $(SEED),0) --show || exit 1; \
	  done

lint:
	$(SETUP) lint
	@tools/lint.sh

alone:
	$(SETUP) build lint
	@python3 tools/alone.py

format:
	$(SETUP) lint
	@tools/lint.sh --fix

bench: build
	@bench/bench.sh

clean:
	@rm -rf build

.PHONY: docs alone mutate wheel python batch notebook types help setup configure build test asan tsan fuzz demo oracle lint format bench clean
