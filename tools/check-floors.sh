#!/usr/bin/env bash
# No crate imports upward. The floors are those of ARCHITECTURE.md: each line below lists what a crate of the host may name,
# and which crates of the outside world are at home in one room only.
set -euo pipefail
cd "$(dirname "$0")/.."

# crate: the crates of the host that it may depend on, all of them on floors below. (The journal's transitions carry the
# session's state: that is why it knows the session.)
floors="
protocol:
session: protocol
manifest: protocol
journal: protocol session
runtime: protocol
driver: protocol session manifest journal runtime
server: protocol driver
cli: protocol session manifest journal runtime driver server
"
# outside crate (a pattern): where it is at home. `tests`, `faults` and `benches` may name anything.
homes="
rusqlite|libsqlite3-sys: journal
wasmtime|wasmtime-.*|cranelift-.*: runtime
axum|axum-.*|hyper|hyper-.*|http|http-body.*|tower|tower-.*: server
tokio|tokio-.*|async-.*: journal runtime driver server cli
"
anywhere="tests faults benches"

failed=0
complain() {
    echo "error: $*" >&2
    failed=1
}

listed() { # word, words: whether it is one of them
    [[ " $2 " == *" $1 "* ]]
}

# "crate dependency" for each dependency that a crate of the workspace names itself. Dev-dependencies count too for
# crates of the host: a test that needs an upper floor belongs into `tests`.
edges() { # folder
    (cd "$1" && cargo tree --workspace --depth 1 --no-dedupe --edges normal,build,dev --target all --prefix depth --format ' {p}') |
        awk '$1 == "0" { of = $2 } $1 == "1" { print of, $2 }' | sort -u
}

host=$(edges .)
guests=$(edges plugins)

while read -r crate dependency; do
    crate=${crate#mainstay-}
    listed "$crate" "$anywhere" && continue
    if ! allowed=$(grep -E "^$crate:" <<<"$floors"); then
        complain "crate $crate has no floor: add it to tools/check-floors.sh and ARCHITECTURE.md"
        continue
    fi
    if [[ $dependency == mainstay-* ]] && ! listed "${dependency#mainstay-}" "${allowed#*:}"; then
        complain "$crate must not depend on ${dependency#mainstay-}: imports would run upward (ARCHITECTURE.md, floors)"
    fi
    while IFS=: read -r pattern home; do
        [ -n "$pattern" ] || continue
        if [[ $dependency =~ ^($pattern)$ ]] && ! listed "$crate" "$home"; then
            complain "$crate must not depend on $dependency: it is at home in$home only"
        fi
    done <<<"$homes"
done <<<"$host"

members=$(cut -d ' ' -f 1 <<<"$guests" | sort -u)
while read -r crate dependency; do
    if [[ $dependency == mainstay-* ]] && ! grep -qx "$dependency" <<<"$members"; then
        complain "guest $crate must not depend on $dependency: guests see the WIT and the SDK, never the host"
    fi
done <<<"$guests"

[ "$failed" = 0 ] || exit 1
echo "   $(cut -d ' ' -f 1 <<<"$host" | sort -u | wc -l) crates of the host and $(wc -l <<<"$members") guests keep to their floors"
