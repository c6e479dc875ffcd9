#!/usr/bin/env bash
# The same session on LangGraph's SQLite checkpointer and on Mainstay, and one table of both. What it installs and writes is
# under target/compare. Options: --turns N, --bytes N, --runs N (see README.md here).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."

folder=$PWD/target/compare
venv=$folder/venv
# A stranger's settings for Python must not reach into the environment, or out of it.
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_USER

fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    [ $# = 0 ] || printf '       %s\n' "$@" >&2
    exit 1
}

check_python() {
    command -v python3 >/dev/null || fail "python3 is not installed: LangGraph needs it." \
        "Debian and Ubuntu: apt-get install python3 python3-venv; macOS: xcode-select --install, or brew install python"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "$(python3 --version) is too old: LangGraph needs Python 3.10 or later. Put a later python3 first on PATH."
    python3 -c 'import venv, ensurepip' 2>/dev/null || fail "this python3 can't make virtual environments." \
        "Debian and Ubuntu: apt-get install python3-venv; elsewhere: install Python with its ensurepip module"
    python3 -c 'import sqlite3' 2>/dev/null || fail "this python3 was built without SQLite." \
        "Install one with its sqlite3 module, and put it first on PATH."
}

# The installed list is written last: an environment that was left half way, or lost its Python, is made anew.
install() {
    cmp -s "$here/requirements.txt" "$venv/installed.txt" && "$venv/bin/python" -c '' 2>/dev/null && return
    echo "== compare: installing LangGraph into target/compare/venv" >&2
    check_python
    rm -rf "$venv"
    mkdir -p "$folder"
    python3 -m venv "$venv" || fail "the virtual environment could not be made, as it says above."
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --retries 2 --timeout 20 \
        --requirement "$here/requirements.txt" ||
        fail "the packages of host/benches/compare/requirements.txt could not be installed, as it says above." \
            "They come from PyPI, or from the index that pip is configured for: the first run needs the network."
    cp "$here/requirements.txt" "$venv/installed.txt"
}

build() {
    tools/ensure-rust.sh
    tools/ensure-cc.sh
    echo "== compare: building Mainstay, optimised" >&2
    cargo build --release -p mainstay-benches
}

case " $* " in
*" --help "* | *" -h "*)
    check_python
    exec python3 "$here/compare.py" --help
    ;;
esac
install
build
options=()
if ! [ -f target/plugins/rehearsal/rehearsal.wasm ]; then
    echo "   the whole host is left out: it needs the guest \`rehearsal\`, which \`make plugins\` builds" >&2
    options+=(--no-host)
fi
echo "== compare: measuring" >&2
exec "$venv/bin/python" "$here/compare.py" --mainstay target/release/mainstay-benches --folder "$folder" \
    ${options[@]+"${options[@]}"} "$@"
