#!/usr/bin/env bash
# What must not be in the repository: paths of one machine, leftovers of a merge, and notes to oneself.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
forbid() { # what it is, pattern
    local found
    found=$(git ls-files -z --cached --others --exclude-standard -- . ':!*.lock' ':!tools/check-words.sh' |
        xargs -0 grep -nIE --no-messages -- "$2" /dev/null || true)
    if [ -n "$found" ]; then
        echo "error: $1:" >&2
        head -n 20 <<<"$found" >&2
        failed=1
    fi
}

forbid "a path of one machine" '(^|[^A-Za-z0-9_.~}$-])/(root|home|work|Users)/'
forbid "a leftover of a merge" '^(<<<<<<<|>>>>>>>)( |$)'
forbid "a note to oneself" '\b(FIXME|XXX)\b'

[ "$failed" = 0 ] || exit 1
echo "   no paths of one machine, no leftovers"
