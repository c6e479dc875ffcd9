#!/usr/bin/env bash
# Every source file opens with a module comment that says what the room is for.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
count=0
while IFS= read -r -d '' file; do
    count=$((count + 1))
    if [[ $(head -n 1 "$file") != '//! '* ]]; then
        echo "error: $file does not open with a module comment (\`//! ...\` on its first line)" >&2
        failed=1
    fi
done < <(find host plugins tests -name target -prune -o -name '*.rs' -print0)

[ "$failed" = 0 ] || exit 1
echo "   $count source files say what they are for"
