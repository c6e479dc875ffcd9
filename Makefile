# The commands of this repository. Each can be run at any time, on a fresh clone too: it installs what is missing, says so,
# and is quick when nothing has changed. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Cargo uses all cores by itself, and two of it would only wait for each other.
.NOTPARALLEL:

.PHONY: help demo demo-loop test torture plugins lint format bench clean machine

help: ## list the commands
	@echo "make COMMAND, where COMMAND is one of:"
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1|\2/p' Makefile | column -t -s '|' 2>/dev/null \
		|| sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1: \2/p' Makefile

demo: machine plugins ## a session works on real files, is killed, goes on, and has its tools swapped
	@echo "== host: building the mainstay command"
	@cargo build -p mainstay-cli
	@examples/demo/run.sh

demo-loop: machine plugins ## the kill and the swap of the demo, twenty times
	@cargo build -p mainstay-cli
	@examples/demo/run.sh --loop 20

test: machine plugins ## all tests: host, integration (with plugins in the sandbox), guests
	@echo "== host: building the mainstay command"
	@cargo build -p mainstay-cli
	@echo "== test: the host's crates and the integration tests"
	@cargo test --workspace
	@echo "== test: the guests, natively"
	@cd plugins && cargo test --workspace
	@echo "== test: all passed"

torture: machine plugins ## failing and forgetful disks for much longer; MAINSTAY_TORTURE=N sets the rounds
	@cargo build -p mainstay-cli
	@MAINSTAY_TORTURE=$${MAINSTAY_TORTURE:-20} cargo test -p mainstay-tests faults -- --nocapture

plugins: machine ## build all guests into target/plugins and target/test-plugins
	@echo "== plugins: building the guests for wasm32-wasip2"
	@plugins/build.sh

lint: machine ## formatting, clippy, licences and bans, floors, module comments
	@echo "== lint: tools"
	@tools/ensure-rust.sh rustfmt clippy
	@tools/ensure-deny.sh
	@echo "== lint: formatting"
	@cargo fmt --all --check
	@cd plugins && cargo fmt --all --check
	@echo "== lint: module comments, words, scripts"
	@tools/check-module-comments.sh
	@tools/check-words.sh
	@tools/check-scripts.sh
	@echo "== lint: no crate imports upward"
	@tools/check-floors.sh
	@echo "== lint: licences, bans, sources, advisories"
	@tools/check-deny.sh
	@echo "== lint: clippy, warnings are errors"
	@cargo clippy --workspace --all-targets -- -D warnings
	@cd plugins && cargo clippy --workspace --all-targets -- -D warnings
	@echo "== lint: clean"

format: machine ## format all sources
	@tools/ensure-rust.sh rustfmt
	@cargo fmt --all
	@cd plugins && cargo fmt --all

bench: machine plugins ## measure; writes target/bench/summary.json
	@echo "== bench: building optimised"
	@mkdir -p target/bench
	@cargo run --release -p mainstay-benches

clean: ## remove everything that was built
	@echo "== clean: removing target/"
	@rm -rf target

machine:
	@tools/ensure-rust.sh
	@tools/ensure-cc.sh
