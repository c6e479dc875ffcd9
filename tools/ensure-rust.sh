#!/usr/bin/env bash
# Makes sure that cargo is there and new enough, and with it the named components (such as rustfmt, clippy).
set -euo pipefail
cd "$(dirname "$0")/.."

needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

if ! command -v cargo >/dev/null; then
    echo "error: cargo is not installed, or not on PATH." >&2
    echo "       Mainstay needs Rust $needed or later: install it with rustup (https://rustup.rs), then run make again." >&2
    exit 1
fi

found=$(cargo --version | cut -d ' ' -f 2)
if [ "$(printf '%s\n' "$needed" "${found%%-*}" | sort -V | head -n 1)" != "$needed" ]; then
    echo "error: Rust $found is too old: Mainstay needs $needed or later. With rustup: rustup update stable" >&2
    exit 1
fi

for component in "$@"; do
    subcommand=$component
    [ "$component" = rustfmt ] && subcommand=fmt
    if ! cargo "$subcommand" --version >/dev/null 2>&1; then
        echo "installing the Rust component $component"
        if ! command -v rustup >/dev/null || ! rustup component add "$component"; then
            echo "error: $component is missing and could not be installed. Install it the way Rust was installed here." >&2
            exit 1
        fi
    fi
done
