#!/usr/bin/env bash
# Shell scripts parse, and are clean by shellcheck where it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts=()
while IFS= read -r -d '' file; do
    [[ $(head -c 64 "$file" 2>/dev/null | tr -d '\0') == '#!'*sh* ]] && scripts+=("$file")
done < <(git ls-files -z --cached --others --exclude-standard)

for script in "${scripts[@]}"; do
    bash -n "$script"
done
if command -v shellcheck >/dev/null; then
    shellcheck "${scripts[@]}"
    echo "   ${#scripts[@]} scripts are clean"
else
    echo "   ${#scripts[@]} scripts parse; shellcheck is SKIPPED: it is not installed"
fi
