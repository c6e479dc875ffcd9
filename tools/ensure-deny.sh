#!/usr/bin/env bash
# Makes sure that cargo-deny is there: it checks licences, banned crates, sources and advisories.
set -euo pipefail

version=0.20.2

cargo deny --version >/dev/null 2>&1 && exit 0

echo "installing cargo-deny $version: once, about 3 minutes"
# In the home folder, so that no workspace's lints, profiles or target folder take part.
cd "${HOME:-/}"
env -u CARGO_TARGET_DIR cargo install cargo-deny --locked --version "$version" --no-default-features
