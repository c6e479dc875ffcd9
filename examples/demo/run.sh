#!/usr/bin/env bash
# The demo: a session works on real files; it is killed in the middle and goes on; its tools are swapped in the middle of a
# turn. Each act says what it does, does it with the `mainstay` command, and checks what has become of files and journal.
#
#   examples/demo/run.sh              three acts
#   examples/demo/run.sh --loop 20    acts two and three, twenty times, quietly
#
# All happens on a copy under target/demo, which stays for a look afterwards.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
example=$root/examples/demo
stage=$root/target/demo
mainstay=${CARGO_TARGET_DIR:-$root/target}/debug/mainstay
# A bound for whatever hangs. Nothing here waits for time to pass.
patience=60

# What the caller's shell says about other hosts is not meant for this one.
unset "${!MAINSTAY_@}"

# --- Telling and checking ---------------------------------------------------------------------------------------------

bold='' green='' red='' plain='' color=0
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m' color=1
fi

# Descriptor 4 is what people read: the terminal, or nothing in a loop.
exec 4>&1

act() { printf '\n%s=== %s%s\n\n' "$bold" "$*" "$plain" >&4; }
tell() { printf '%s\n' "$*" >&4; }

fail() {
    printf '\n%sdemo: FAILED: %s%s\n' "$red" "$*" "$plain" >&2
    printf 'demo: journal, files and output of the failed act are in target/demo\n' >&2
    exit 1
}

# check WHAT COMMAND...: the command must succeed.
check() {
    local what=$1
    shift
    "$@" || fail "it does not hold that $what"
    tell "${green}ok${plain}  $what"
}

same() { [ "$1" = "$2" ] || { echo "expected \`$1\`, found \`$2\`" >&2 && false; }; }
differ() { [ "$1" != "$2" ]; }
some() { [ -n "$1" ]; }

# host ARGUMENTS...: the command under test, on the stage. What is shown can be typed in target/demo.
host() { (cd "$stage" && exec timeout --foreground "$patience" "$mainstay" "$@"); }

# play FILE ARGUMENTS...: the same, for people to watch; what it prints is kept in the file.
play() {
    local file=$stage/$1
    shift
    # Through the pipe the host sees no terminal, so it is told whether there is one.
    if [ "$color" = 1 ]; then local -x CLICOLOR_FORCE=1; fi
    host "$@" 2>&1 | tee "$file" >&4
}

# show ARGUMENTS...: the command, as one would type it.
show() {
    local shown='' word
    for word in "$@"; do
        if [[ $word == *[!A-Za-z0-9_./=-]* ]]; then shown+=" \"$word\""; else shown+=" $word"; fi
    done
    tell "\$ ${shown_before:-}mainstay$shown"
}

# --- Reading what the host prints -------------------------------------------------------------------------------------

# Records are one JSON object a line. A quote within a text is escaped there, so that `"key":` is always a key.

# of_kind KIND: the records of that kind, from standard input.
of_kind() { grep -F "\"kind\":\"$1\"" || true; }

# value KEY: the last value of that key in each line.
value() { sed -nE "s/.*\"$1\":\"?([^\",}]*)\"?.*/\1/p"; }

events() { host session events "$1" --json; }

count() { grep -c . || true; }

# The approval that waits in a session, from `session show`.
waiting_approval() { host session show "$1" --json | tr -d '\n' | sed -nE 's/.*"approvals": ?\[[^]]*"approval": ?"([^"]*)".*/\1/p'; }

# --- The stage --------------------------------------------------------------------------------------------------------

# What an earlier run left is removed, but for compiled plugins: they are found by digest.
set_stage() {
    mkdir -p "$stage"
    find "$stage" -mindepth 1 -maxdepth 1 ! -name cache -exec rm -rf {} +
    cp -R "$example/scripts" "$example/mainstay.toml" "$stage/"
}

fresh_workspace() {
    rm -rf "$stage/workspace"
    cp -R "$example/workspace" "$stage/workspace"
}

job="Collect the open points of the code in TODO.md"

# How often the session's edit is in the file: it puts in one block of text each time that it runs.
times_written() { grep -c '^```text$' "$stage/workspace/TODO.md" || true; }

# --- Act one ----------------------------------------------------------------------------------------------------------

act_one() {
    act "Act one: a session works on real files"
    fresh_workspace
    tell "The model, the tools and the gate are three WebAssembly components, each in a sandbox of its own. The tools see one"
    tell "folder, target/demo/workspace. Looking needs no permission here; changing a file does, and this script allows it."
    tell ""
    show run --session demo-1 --approve all "$job"
    play act-one.out run --session demo-1 --approve all "$job" </dev/null || fail "the session did not end well"
    tell ""

    local journal
    journal=$(events demo-1)
    check "the session listed, read, searched and edited" \
        same "list_files read_file search_files edit_file" "$(of_kind call_ended <<<"$journal" | value tool | xargs)"
    check "a person was asked once and allowed it" \
        same "edit_file approved" "$(of_kind approval_requested <<<"$journal" | value tool) $(of_kind approval_resolved <<<"$journal" | value resolution)"
    check "TODO.md has what the search found in the code" \
        grep -q '^src/report.py:[0-9]*: .*TODO: ' "$stage/workspace/TODO.md"
    check "nothing else has changed" \
        diff -r --exclude=TODO.md "$example/workspace" "$stage/workspace"
    check "the turn is completed" same 1 "$(of_kind turn_completed <<<"$journal" | count)"
}

# --- Act two ----------------------------------------------------------------------------------------------------------

act_two() {
    act "Act two: the host is killed while a person is being asked"
    fresh_workspace
    tell "The same job in a new session. The host kills itself with signal 9 as soon as the question is durable: no"
    tell "destructor runs, nothing is flushed. (MAINSTAY_FAILPOINT names the place, so that nothing depends on timing.)"
    tell ""
    shown_before='MAINSTAY_FAILPOINT=approval.pending ' show run --session demo-2 "$job"
    local status=0
    # The shell says "Killed" on its own standard error; the check below says it better.
    MAINSTAY_FAILPOINT=approval.pending play act-two-killed.out run --session demo-2 "$job" </dev/null 2>/dev/null || status=$?
    tell ""
    check "the process died by signal 9" same 137 "$status"
    check "nothing was written" same 0 "$(times_written)"

    local asked
    asked=$(waiting_approval demo-2)
    check "the journal has the question: approval $asked" some "$asked"

    tell ""
    tell "A new process on the same folder. It asks again, with the same id; this time the answer is yes."
    tell ""
    show run --session demo-2 --approve all
    play act-two.out run --session demo-2 --approve all </dev/null || fail "the session did not go on after the kill"
    tell ""

    local journal
    journal=$(events demo-2)
    check "it is the same question: asked once, with the same id" \
        same "$asked" "$(of_kind approval_requested <<<"$journal" | value approval | xargs)"
    check "it was answered once" \
        same "$asked approved" "$(of_kind approval_resolved <<<"$journal" | value approval | xargs) $(of_kind approval_resolved <<<"$journal" | value resolution | xargs)"
    check "the edit ran once, by its records" \
        same 1 "$(of_kind call_ended <<<"$journal" | value tool | grep -cx edit_file)"
    check "the edit ran once, by the file" same 1 "$(times_written)"
    check "the turn that was killed is the one that completed" \
        same "$(of_kind turn_started <<<"$journal" | value turn)" "$(of_kind turn_completed <<<"$journal" | value turn)"
}

# --- Act three --------------------------------------------------------------------------------------------------------

# next_event PATTERN: reads what the running session prints until a line fits; that line.
next_event() {
    local line
    while IFS= read -r -t "$patience" line <&6; do
        printf '%s\n' "$line" >>"$stage/act-three.out"
        if [[ $line == *"$1"* ]]; then
            printf '%s\n' "$line"
            return
        fi
    done
    return 1
}

act_three() {
    act "Act three: the tools are swapped in the middle of a turn"
    fresh_workspace
    tell "A session reads the stock, writes an order and reads it again. While it waits for the permission to write, the files"
    tell "plugin is replaced by another build, whose read_file numbers the lines. No restart, no lost turn."
    tell ""
    show run --session demo-3 --json "Write the order list"
    mkfifo "$stage/answers"
    exec 6< <(host run --session demo-3 --json "Write the order list" <"$stage/answers" 2>"$stage/act-three.err")
    local session=$!
    exec 7>"$stage/answers"

    local question approval
    question=$(next_event '"kind":"approval_requested"') || fail "no question came: $(tail -n 3 "$stage/act-three.err")"
    approval=$(value approval <<<"$question")
    tell "... it asks for approval $approval, and waits."
    tell ""
    show plugin swap files ../plugins/files-next
    play act-three-swap.out plugin swap files ../plugins/files-next </dev/null || fail "the swap was refused"
    tell ""
    tell "... now the answer, on the running session's standard input:"
    tell "    {\"approval\":\"$approval\",\"answer\":\"approve\"}"
    printf '{"approval":"%s","answer":"approve"}\n' "$approval" >&7
    next_event '"kind":"turn_' >/dev/null || fail "the turn did not end: $(tail -n 3 "$stage/act-three.err")"
    exec 7>&-
    cat <&6 >>"$stage/act-three.out"
    exec 6<&-
    wait "$session" || fail "the session did not end well: $(tail -n 3 "$stage/act-three.err")"

    local journal
    journal=$(events demo-3)
    tell ""
    tell "Which code served which call of the turn, by \`mainstay session events demo-3\`:"
    tell ""
    served "$journal" | tee "$stage/served.txt" >&4
    tell ""
    local before after
    before=$(awk '$1 == 0 { print $5 }' "$stage/served.txt")
    after=$(awk '$1 == 2 { print $5 }' "$stage/served.txt")
    check "three calls in one turn" \
        same "1 3" "$(of_kind call_ended <<<"$journal" | value turn | sort -u | count) $(of_kind call_ended <<<"$journal" | count)"
    check "the first was served by the build that the manifest names" \
        same "$(sha256sum "$root/target/plugins/files/files.wasm" | cut -c 1-12)" "$before"
    check "the last was served by the build that was swapped in" \
        same "$(sha256sum "$root/target/plugins/files-next/files.wasm" | cut -c 1-12)" "$after"
    check "they are two builds" differ "$before" "$after"
    check "what the last call returned shows it: its lines have numbers" \
        grep -q '     1  # Order' "$stage/act-three.out"
    check "the order is written" grep -q '^- Sidamo Ethiopia: 4 bags' "$stage/workspace/ORDER.md"
    check "the turn is completed" same 1 "$(of_kind turn_completed <<<"$journal" | count)"
}

# The calls of a session and who served them: step, tool, plugin, version, digest. Versions are in the receipts.
served() {
    local receipts step tool plugin sha256 version
    receipts=$(of_kind receipt_recorded <<<"$1")
    printf 'step  tool        plugin  version  sha256\n'
    of_kind call_ended <<<"$1" | while IFS= read -r line; do
        step=$(value step <<<"$line") tool=$(value tool <<<"$line")
        plugin=$(value plugin <<<"$line") sha256=$(value sha256 <<<"$line")
        version=$(grep -F "$sha256" <<<"$receipts" | value version | head -n 1)
        printf '%-4s  %-10s  %-6s  %-7s  %s\n' "$step" "$tool" "$plugin" "${version:-?}" "${sha256:0:12}"
    done
}

# --- The evening ------------------------------------------------------------------------------------------------------

[ -x "$mainstay" ] || fail "there is no $mainstay: run \`make demo\`, which builds it"
[ -e "$root/target/plugins/files-next/files.wasm" ] || fail "the plugins are not built: run \`make demo\`, which builds them"

case "${1:-}" in
'')
    set_stage
    act_one
    act_two
    act_three
    act "All three acts held. Look around in target/demo: \`mainstay session events demo-3\`"
    ;;
--loop)
    rounds=${2:-20}
    exec 4>/dev/null
    for ((round = 1; round <= rounds; round++)); do
        set_stage
        act_two
        act_three
        printf 'round %d of %d: killed and went on, swapped and went on\n' "$round" "$rounds"
    done
    ;;
*)
    echo "usage: examples/demo/run.sh [--loop ROUNDS]" >&2
    exit 2
    ;;
esac
