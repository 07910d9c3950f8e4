# Backwater. Every target sets up what it needs; `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
# Pip waits for the network while a compiler works, and labs keep to real time while Rust's tests run.
MAKEFLAGS += --jobs=3
# Cargo would share these jobs, but compilers may take all processors.
unexport MAKEFLAGS MFLAGS

VENV := .venv
BIN := $(VENV)/bin
OUT ?= runs/fig9
SCALE ?= quick
# What `run` has of figure 9. All 15 variants and five seeds take ten times as long.
ONLY ?= --seeds 2 --set 'variant=["BFC", "HPCC", "DCTCP", "Ideal-FQ"]'
# The first interpreter that is new enough.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

RUST := Cargo.toml Cargo.lock $(shell find crates data -type f -not -path '*/target/*' 2>/dev/null)

# What has to build where there is no standard library, and a target that has none.
CORES := cargo check --locked -p backwater-types -p backwater-wire -p backwater-dataplane -p backwater-transport -p backwater-nic --no-default-features
BARE := x86_64-unknown-none

# What Python imports has no tests in Rust, and takes a minute to compile.
MODULES := --exclude backwater-bindings --exclude backwater-python --exclude backwater-mine

# `bench` is the profile of the tests, see Cargo.toml.
CARGO_TEST := cargo test --profile bench --locked

# Schemes that are compiled as a user's own.
OUTSIDE := $(wildcard python/backwater/mine/templates/*/src/lib.rs tests/data/*/src/lib.rs)

# Kept elsewhere, they are compiled once: TOOLS=DIR.
TOOLS ?= target/tools
cargo-deny := 0.20.2
cargo-cyclonedx := 0.5.9
cyclonedx-bom := 7.5.0
DENY := $(TOOLS)/bin/cargo-deny --offline --locked
ADVISORIES ?= $(HOME)/.cargo/advisory-dbs
# Time of `lab-hour`.
SECONDS_OF_LOAD ?= 3600
# Executions of each parser.
FUZZ ?= 1000000

# A wheel that others install is built with `dist`, which takes many minutes; `release` reuses what is compiled.
WHEEL_PROFILE ?= dist
WHEELS := target/dist

# Python tests side by side. Each simulation takes all processors, and labs keep to real time, so many workers gain nothing.
WORKERS := --numprocesses=auto --maxprocesses=4 --dist=worksteal
# They write 0.6 GB of small files, and on a disk they wait for it half of the time. So they write into memory where it has room.
# Labs of another user have to enter that directory.
SCRATCH := $(shell if [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'END { print $$4 }')" -gt 4000000 ]; then echo /dev/shm; else echo $${TMPDIR:-/tmp}; fi)
PYTEST := place=$$(mktemp -d $(SCRATCH)/bw-XXXXXX) && trap 'rm -rf '$$place EXIT && chmod a+x $$place && TMPDIR=$$place BACKWATER_SCHEMES= $(BIN)/pytest --basetemp=$$place/t $(WORKERS)

.PHONY: help setup run lab lab-tables lab-hour lab-doctor test test-programs test-rust test-python test-long test-oldest test-slurm fuzz bench bench-costs bench-lab bench-peer bench-page lint lint-rust lint-python tools audit sbom format docs figures rustdoc api formats results lock wheel clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

setup: $(VENV)/.module ## put `backwater` into .venv/bin

run: setup ## the main job: BFC beside HPCC, DCTCP and ideal fair queueing; SCALE=smoke|quick|paper, ONLY= for all of figure 9
	$(BIN)/backwater run experiments/bfc/fig9.toml --scale $(SCALE) $(ONLY) --out $(OUT) --force || test $$? -eq 1 # a claim failed

lab: setup ## nine TCP senders into one port of real packets, without root: a minute, and a page in runs/lab-incast
	$(BIN)/backwater lab lab-incast --rate 100 --out runs/lab-incast --force

lab-tables: setup ## the tables of docs/lab.md, from runs with real packets beside simulated ones: some 20 minutes
	$(BIN)/python tools/lab_tables.py run runs/lab
	$(BIN)/python tools/lab_tables.py write runs/lab docs/lab.md

lab-hour: setup ## an hour of TCP across processes, with watchdogs that must stay silent; SECONDS_OF_LOAD=3600
	$(BIN)/python tools/lab_hour.py $(SECONDS_OF_LOAD)

lab-doctor: setup ## whether this machine can run `backwater lab`
	$(BIN)/backwater lab $(CURDIR)/examples/two-schemes.toml --for 0.5 && echo "The lab runs on this machine."
	$(BIN)/backwater lab $(CURDIR)/examples/two-schemes.toml --for 0.1 --dctcp && echo "So does DCTCP in the kernel." || echo "DCTCP in the kernel does not."

test: test-python test-rust ## everything that takes minutes at most, Rust and Python side by side

# Compilers come first. They fill all processors, and while they work, a test of Python that compiles a scheme would wait for them.
ifneq ($(filter test,$(MAKECMDGOALS)),)
test-python: test-programs
endif

test-programs:
	$(CARGO_TEST) --workspace $(MODULES) --no-run

# Python's labs keep to real time, so these tests have what they leave of the processors.
test-rust: test-programs ## unit, property and closed-form tests; the cores without std
	nice $(CARGO_TEST) --workspace $(MODULES)
	if rustup target add $(BARE) 2>/dev/null; then $(CORES) --target $(BARE); else $(CORES); \
		echo "No $(BARE) to be had: this showed only that the cores name nothing of std, not that nothing below them does."; fi

test-python: $(VENV)/.module ## command line, API, report in a browser
	@$(PYTEST)

test-long: setup ## statistics and sweeps that take longer
	LONG=1 cargo test --workspace --locked --release -- --include-ignored
	$(CARGO_TEST) -p backwater-mine --test schemes
	@$(PYTEST) -m "long or not long"

test-oldest: setup ## what meets other libraries, with the oldest versions that pyproject.toml allows
	tests/try-oldest

test-slurm: setup ## sweeps on a real Slurm of one machine; as root, with the packages slurmctld, slurmd, slurm-client and munge
	BACKWATER_SCHEMES= $(BIN)/pytest -m long tests/test_slurm.py

fuzz: ## every parser with mutations of valid texts and frames; FUZZ=executions
	FUZZ=$(FUZZ) $(CARGO_TEST) -p backwater-scenario --test fuzz -- --ignored --nocapture
	FUZZ=$(FUZZ) $(CARGO_TEST) -p backwater-jobs --test fuzz -- --ignored --nocapture
	FUZZ=$(FUZZ) $(CARGO_TEST) -p backwater-wire --test frames -- --ignored --nocapture

bench: ## packet-hops per second and peak memory with one and two threads, into target/bench*.json; then the data plane alone
	cargo run --release --locked -p backwater-sim --bin bench -- --out target/bench.json
	cargo run --release --locked -p backwater-sim --bin bench -- --threads 2 --out target/bench-2.json
	cargo run --release --locked -p backwater-sim --bin dataplane_bench

bench-costs: setup ## instructions, cache misses and mispredicted branches of a packet-hop, into docs/performance.md; needs Valgrind
	CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo build --release --locked -p backwater-sim --bin bench --target-dir target/costs
	$(BIN)/python tools/hop_costs.py target/costs/release/bench docs/performance.md

bench-lab: ## frames per second of the lab beside a copy loop, into target/bench-lab.json; as root, or where users may make namespaces
	cargo run --release --locked -p backwater-lab --bin bench_lab -- --out target/bench-lab.json

bench-peer: setup ## DCTCP over TCP in ns-3 and here, into docs/ns3.md; needs g++ and Debian's libns3-dev 3.37; a quarter of an hour
	$(BIN)/python tools/ns3_peer.py target/ns3

bench-page: setup ## how long a large page takes to answer clicks, in a headless Chromium
	$(BIN)/python tests/bench_page.py

lint: lint-rust lint-python ## formatting and lints, Rust and Python

# By the profile of the tests, so that macros and build scripts are compiled once for all.
lint-rust:
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(OUTSIDE)
	cargo clippy --profile bench --workspace --all-targets --locked -- -D warnings
	cargo clippy --profile bench --workspace --test schemes --locked -- -D warnings # What `build-scheme --test` compiles is no target of `all`.

lint-python: $(VENV)/.packages
	$(BIN)/ruff format --check python tests tools
	$(BIN)/ruff check python tests tools
	$(BIN)/mypy

tools: $(TOOLS)/bin/cargo-deny $(TOOLS)/bin/cargo-cyclonedx $(TOOLS)/python ## what `audit` and `sbom` are made by, compiled once

audit: $(TOOLS)/bin/cargo-deny ## licences, sources and versions of crates; advisories where their database is
	$(DENY) check licenses bans sources
	if [ -d $(ADVISORIES) ]; then $(DENY) check advisories; else echo "No copy of the advisory database in $(ADVISORIES)"; fi

sbom: $(TOOLS)/bin/cargo-cyclonedx $(TOOLS)/python $(VENV)/.packages ## bills of materials (CycloneDX), Rust and Python, into target/sbom
	mkdir -p target/sbom
	$(TOOLS)/bin/cargo-cyclonedx cyclonedx --manifest-path crates/python/Cargo.toml --format json --override-filename backwater-rust
	mv crates/python/backwater-rust.json target/sbom/ # What the module is made of; the others are each part of it.
	rm -f crates/*/backwater-rust.json
	$(TOOLS)/python/bin/cyclonedx-py requirements requirements.lock --of JSON -o target/sbom/backwater-python.json

format: $(VENV)/.packages ## format everything
	cargo fmt --all
	rustfmt --edition 2024 $(OUTSIDE)
	$(BIN)/ruff format python tests tools
	$(BIN)/ruff check --fix python tests tools

results: setup ## docs/results/*.md from the ledger and its prose
	$(BIN)/python tools/site/ledger_pages.py docs/results

formats: ## docs/job-formats.md from the documentation of the readers of jobs
	python3 tools/job_formats.py docs/job-formats.md

api: setup ## docs/api.md from the docstrings
	$(BIN)/python tools/apipage.py docs/api.md

docs: setup ## the documentation as a site to be read without a network, into target/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict # --quiet would hide warnings from --strict

figures: setup ## charts and pictures of the documents, from runs (some minutes) and from what `make bench` wrote, if it did
	$(BIN)/python tools/figures.py run runs/figures
	if [ -f target/bench.json ]; then $(BIN)/python tools/figures.py speed target/bench*.json; fi
	$(BIN)/python tools/figures.py draw

rustdoc: ## Rust API documentation, into target/doc
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

lock: $(VENV)/.packages ## pin the Python packages again
	$(BIN)/pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --upgrade --extra dev --strip-extras --no-header --no-emit-find-links --annotation-style line -o requirements.lock pyproject.toml

# Tools that look at what is built. They are kept with what is built, and compiled once.
$(TOOLS)/bin/%:
	cargo install --quiet --locked --root $(TOOLS) --version $($*) $*

$(TOOLS)/python: | $(VENV)/bin/python
	$(BIN)/python -m venv $@
	$@/bin/pip install --quiet --disable-pip-version-check cyclonedx-bom==$(cyclonedx-bom) || { rm -rf $@; exit 1; }

wheel: $(VENV)/bin/maturin ## a wheel into target/dist, tried in an empty environment; WHEEL_PROFILE=dist|release
	rm -rf $(WHEELS)
	$(MATURIN) build --locked --quiet --profile $(WHEEL_PROFILE) --out $(WHEELS)
	tests/try-wheel $(WHEELS)/*.whl

clean: ## remove what was built
	rm -rf $(VENV) target

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What builds the module, before all other packages.
$(VENV)/bin/maturin: requirements.lock | $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep -o '^maturin==[^ ]*' requirements.lock)"
	@touch $@

$(VENV)/.packages: requirements.lock $(VENV)/bin/maturin
	@echo "Python packages into $(VENV): about a minute."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@touch $@

MATURIN := env -u CONDA_PREFIX PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin
# Its words are shown only if it fails.
QUIETLY := > target/maturin.log 2>&1 || { cat target/maturin.log >&2; exit 1; }

# The simulator compiles while pip works. It is put into the environment when both are done.
$(VENV)/.compiled: $(RUST) pyproject.toml $(VENV)/bin/maturin
	@echo "The simulator: two to five minutes on two cores the first time, less after a change."
	@mkdir -p target
	@$(MATURIN) build --locked --quiet --release --out target/wheels $(QUIETLY)
	@touch $@

$(VENV)/.module: $(VENV)/.packages $(VENV)/.compiled
	@$(MATURIN) develop --locked --quiet --release $(QUIETLY)
	@touch $@
