#!/usr/bin/env bash
# Makes sure that there is a C compiler: SQLite is compiled into the host, and Rust links with it.
set -euo pipefail

command -v cc >/dev/null && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing a C compiler (gcc, libc6-dev): SQLite is compiled into the host"
    export DEBIAN_FRONTEND=noninteractive
    if apt-get update -qq </dev/null && apt-get install -y -qq --no-install-recommends gcc libc6-dev </dev/null; then
        command -v cc >/dev/null && exit 0
    fi
fi

echo "error: there is no C compiler \`cc\`: SQLite is compiled into the host, and Rust links with it." >&2
echo "       Install one (Debian and Ubuntu: apt-get install gcc libc6-dev; macOS: xcode-select --install)." >&2
exit 1
