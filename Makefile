# make demo · make test · make lint · make docs · make notebooks · make screens · make gallery · make wheels · make trial · make equality · make foresee · make fuzz · make deny · make clean
# make msrv · make attack · make simulate · make loom · make miri · make mutants · make mutants-sample · make few-flows · make bench · make bench-instructions · make bench-cost · make bench-ablation · make bench-peers · make bench-ns3 · make bench-disciplines · make bench-dataplane · make bench-kernel · make bench-kernel-bbr · make bench-advise · make bench-studio
# Each sets up what it needs: .venv/ with the tools and a release build, Rust by rustup. Needs a C compiler and Python 3.11.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help
.PHONY: help demo test test-built test-units test-programs lint style msrv docs notebooks screens gallery wheels trial equality fuzz attack simulate loom miri mutants mutants-sample deny few-flows bench bench-instructions bench-cost bench-ablation bench-peers bench-ns3 bench-disciplines bench-dataplane bench-kernel bench-kernel-bbr clean rust bench-advise bench-studio

export PATH := $(HOME)/.cargo/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYO3_PYTHON = $(CURDIR)/$(BIN)/python
CARGO := env -u MAKEFLAGS -u MFLAGS cargo # has jobs of its own

LENGTH := --quick
CASES := 20000
SCENARIOS := 400
QUESTIONS := 200
FUZZ_S := 60
FUZZ_OPTIMISED := 3 # 1 is compiled sooner: for a minute
FUZZ_JOBS := $(shell nproc)
PYTEST_JOBS := $(shell n=$$(nproc); echo $$((n < 4 ? n + 1 : 4))) # one more than processors: some tests wait
SIMULATED_S := 1000000
SEED := 0
# In full unless LENGTH is given: it is short elsewhere.
ATTACK_LENGTH = $(if $(ATTACK_S),--seconds $(ATTACK_S),$(if $(filter command line,$(origin LENGTH)),$(LENGTH)))
FUZZ_TARGETS := $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))
# What cargo-fuzz gives the compiler, but for the sanitizer: stable takes it.
COVERED := --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=4
VENV := .venv
BIN := $(VENV)/bin
WHEELS := target/wheels
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,$(shell $(p) -c '$(NEW_ENOUGH)' 2>/dev/null && echo $(p))))
CORE := $(shell find crates -type f \( -name '*.rs' -o -name '*.toml' \)) $(wildcard Cargo.toml Cargo.lock rust-toolchain.toml)
PACKAGE := $(shell find python scenarios docs packaging/paceline.data -type f ! -name '*.pyc' ! -name '*.so')

help:
	@sed -n 1,3p Makefile

demo: $(VENV)/.installed  ## The papers' network under every pacing method: a table, and a report to open
	$(BIN)/paceline run scenarios/edge-vs-host.toml

test: style test-units test-programs $(VENV)/.installed  ## What a change must pass; with -j3 the extension is made beside the Rust tests
	$(BIN)/pytest -n $(PYTEST_JOBS) --dist loadfile

# Clippy is the compiler here, so that its lints cost no compilation of their own.
test-built test-units test-programs: export RUSTC_WORKSPACE_WRAPPER := clippy-driver
test-built test-units test-programs: export CLIPPY_ARGS := -Dwarnings
test-built: $(BIN)/python | rust
	$(CARGO) test --workspace --all-targets --locked --quiet --no-run

test-units: test-built
	$(CARGO) test --workspace --lib --bins --locked
	$(CARGO) test --workspace --doc --locked

test-programs: test-built
	$(CARGO) test --workspace --test '*' --locked

lint: style  ## The same lints without the tests
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

style: $(VENV)/.tools | rust
	cargo fmt --all --check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/typos

msrv: rust  ## All of it compiles with the oldest compiler that Cargo.toml names
	oldest=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); rustup toolchain install $$oldest --profile minimal --no-self-update; \
	CARGO_PROFILE_DEV_DEBUG=false cargo +$$oldest check --workspace --all-targets --locked --target-dir target/msrv

docs: $(VENV)/.docs $(VENV)/.installed  ## The site of docs/ as site/index.html, without a network; a warning or a broken link ends it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

notebooks: $(VENV)/.notebooks $(VENV)/.installed  ## Every notebook of docs/notebooks in full, and the pages that show what they show
	$(BIN)/python packaging/notebooks.py
	$(BIN)/python packaging/links.py

screens: $(VENV)/.installed  ## The screens of docs/: studio, report, gallery, advice, on a desktop and a phone; WHAT= for some; needs Chromium
	$(BIN)/python -m paceline.cli.screens $(WHAT)
	$(BIN)/python packaging/links.py

gallery: $(VENV)/.installed  ## Every figure and table of the papers in short, as a site to open; LENGTH= for full length
	$(BIN)/paceline reproduce all $(LENGTH) --gallery

bench: $(VENV)/.installed
	cargo bench --workspace --locked
	$(BIN)/python benches/engine.py --json results/bench.json
	for script in features analyse; do $(BIN)/python benches/$$script.py; done

bench-advise: $(VENV)/.installed  ## Advice on 200 drawn questions beside an exhaustive search: utility, coverage, cost; QUESTIONS= for fewer, goes on where it stopped; two hours
	$(BIN)/python benches/advise.py --questions $(QUESTIONS)

wheels: $(VENV)/.wheels | rust  ## The wheels of a release in dist/, for Linux, macOS and Windows; TRY=--try also runs what it can, under QEMU and Wine
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python packaging/wheels.py $(TRY)

trial: $(VENV)/.installed  ## A new user's first minutes: the wheel alone, in an empty folder, without a network; fetches JupyterLab before
	$(BIN)/python packaging/trial.py $(WHEELS)/*.whl

bench-studio: $(VENV)/.installed  ## The studio in Chromium: from a slider to its first answer, frames a second with 500 packets
	$(BIN)/python benches/studio.py

bench-instructions: $(VENV)/.installed  ## Instructions a packet, row by row; 3 % more than benches/history.csv has fails; needs valgrind
	$(BIN)/python benches/instructions.py

bench-cost: $(VENV)/.installed  ## How the cost of a packet grows with flows, round trips and hops: pictures in docs/
	$(BIN)/python benches/cost.py

bench-ablation: $(VENV)/.installed  ## What each fast path buys on every row of the bench: time, and instructions; an hour; needs valgrind
	$(BIN)/python benches/ablation.py

equality: rust  ## Both engines on thousands of random scenarios; a failing one is left as a small TOML file
	PACELINE_CASES=$(CASES) cargo test --release --locked -p paceline-sim --test equality -- --nocapture

fuzz: rust  ## Every fuzz target for FUZZ_S= seconds, from its kept corpus, FUZZ_JOBS= at once; FUZZ_TARGETS= for some; needs a C++ compiler
	host=$$(rustc -vV | sed -n 's/^host: //p'); export out=target/fuzz/$$host/release; \
	(cd fuzz && RUSTFLAGS="$(COVERED)" CARGO_PROFILE_RELEASE_OPT_LEVEL=$(strip $(FUZZ_OPTIMISED)) cargo build --release --locked --target $$host --target-dir ../target/fuzz); \
	fuzz() { \
		mkdir -p target/fuzz/found/$$1 fuzz/corpus/$$1; \
		$$out/$$1 -max_total_time=$(FUZZ_S) -rss_limit_mb=4096 -timeout=20 -verbosity=0 -print_final_stats=1 \
			-artifact_prefix=target/fuzz/$$1- target/fuzz/found/$$1 fuzz/corpus/$$1 >target/fuzz/$$1.log 2>&1 \
			|| { cat target/fuzz/$$1.log; echo "$$1: FAILED"; exit 255; }; \
		echo "$$1: $$(sed -n 's/^stat::number_of_executed_units: *//p' target/fuzz/$$1.log) inputs, none of which failed"; \
	}; export -f fuzz; \
	printf '%s\n' $(FUZZ_TARGETS) | xargs -P $(FUZZ_JOBS) -I {} bash -c 'fuzz {}'

loom: rust  ## The pacer's rings and its bypass in models of memory, in more orders than `make test` tries
	PACELINE_FULL=1 cargo test --locked -p paceline-dataplane --lib model:: -- --nocapture

miri: rust  ## Tests of unsafe code, and of parsers, interpreted: what is undefined ends them; needs rustup, fetches a nightly
	rustup toolchain install nightly --profile minimal -c miri -c rust-src --no-self-update
	export MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2; interpreted="cargo +nightly miri test --locked --target-dir target/miri"; \
	$$interpreted -p paceline-dataplane --lib -- packet:: xdp:: simulated_faults; \
	$$interpreted -p paceline-capture --lib --tests -- --skip gzip

mutants: rust  ## Small faults in four crates, a sample of them, and what share the tests notice; SHARD=0/1 is all; needs cargo-mutants
	$(PYTHON) benches/mutants.py $(if $(SHARD),--shard $(SHARD)) $(CRATES)

mutants-sample: rust  ## Fourteen small faults in core and tcp, in one build: one fails that no test notices and docs/mutants.md does not list
	$(PYTHON) benches/mutants_sample.py $(CRATES)

attack: $(VENV)/.installed  ## Every attack on what SECURITY.md promises, in one table: an hour, or LENGTH=--quick; ATTACK_S= for other lengths; as root
	$(BIN)/python benches/attack/run.py $(ATTACK_LENGTH) --json target/attack.json

simulate: rust  ## The inline pacer over a simulated kernel for SIMULATED_S= seconds of traffic, in which everything fails; SEED= for others
	PACELINE_SIMULATED_SECONDS=$(SIMULATED_S) PACELINE_SEED=$(SEED) cargo test --profile attack --locked -p paceline-dataplane --lib \
		simulated_ -- --nocapture

deny: rust  ## Licences, advisories and sources of what is compiled in; needs cargo-deny
	cargo deny --workspace --all-features check

few-flows: $(VENV)/.installed  ## One, two and ten flows at 0.1 to 4 BDP, every variant and profile, against ns-2 and theory
	PACELINE_FULL=1 $(BIN)/pytest tests/test_few_flows.py

foresee: $(VENV)/.installed  ## What the doctor foresees beside what runs do, over hundreds of random scenarios; SCENARIOS= for more
	PACELINE_SCENARIOS=$(SCENARIOS) $(BIN)/pytest -s tests/test_doctor_foresees.py

bench-peers: $(VENV)/.installed
	$(BIN)/python benches/peers/run.py

bench-ns3: $(VENV)/.installed  ## What ns-3's own CUBIC, BBR and FQ-CoDel take, beside ours: a table for docs/; needs libns3-dev
	$(BIN)/python benches/peers/ns3_controls.py --write-docs

bench-disciplines: $(VENV)/.installed  ## Queue disciplines beside those of ns-3, fed the same packets; needs libns3-dev
	$(BIN)/python benches/peers/disciplines.py

bench-kernel: $(VENV)/.installed  ## The papers' experiments on this machine's own TCP, beside the simulator; as root
	$(BIN)/python benches/kernel/run.py

bench-kernel-bbr: $(VENV)/.installed  ## BBR on this machine's kernel beside the simulator's, over 50 drawn scenarios; as root
	$(BIN)/python benches/kernel/bbr.py

bench-dataplane: $(VENV)/.installed  ## Needs root and an idle machine
	$(BIN)/python benches/dataplane/run.py

clean:
	rm -rf $(VENV) target results dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@[ -n "$(PYTHON)" ] || { echo "paceline: needs Python 3.11 or later; install python3 and python3-venv" >&2; exit 1; }
	@$(PYTHON) -c '$(NEW_ENOUGH)' || { echo "paceline: $(PYTHON) is older than 3.11; say make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "paceline: Python has no venv; install python3-venv" >&2; exit 1; }

$(VENV)/.tools: requirements-dev.lock | $(BIN)/python
	$(BIN)/pip install --quiet --require-hashes -r $<
	@touch $@

$(VENV)/.docs: requirements-docs.lock $(VENV)/.tools
	$(BIN)/pip install --quiet --require-hashes -r $<
	@touch $@

$(VENV)/.notebooks: requirements-notebooks.lock $(VENV)/.tools
	$(BIN)/pip install --quiet --require-hashes -r $<
	@touch $@

$(VENV)/.wheels: requirements-wheels.lock $(VENV)/.tools
	$(BIN)/pip install --quiet --require-hashes -r $<
	@touch $@

$(VENV)/.installed: $(VENV)/.tools pyproject.toml README.md $(CORE) $(PACKAGE) | rust
	@command -v cc >/dev/null || { echo "paceline: needs a C compiler to link; install gcc or clang" >&2; exit 1; }
	rm -rf $(WHEELS)
	$(BIN)/maturin build --release --locked --quiet --interpreter $(BIN)/python --out $(WHEELS)
	$(BIN)/pip install --quiet --no-deps --force-reinstall $(WHEELS)/*.whl
	@touch $@

rust:
	@command -v cargo >/dev/null || curl --proto '=https' --tlsv1.2 -fsS https://sh.rustup.rs | sh -s -- -y --profile minimal -c clippy,rustfmt \
		|| { echo "paceline: needs Rust 1.88 or later; install it by rustup (https://rustup.rs)" >&2; exit 1; }
