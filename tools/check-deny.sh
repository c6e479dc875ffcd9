#!/usr/bin/env bash
# Licences, bans and sources of both workspaces; advisories too, where their database can be fetched.
set -euo pipefail
cd "$(dirname "$0")/.."

checks=(bans licenses sources)
if timeout 120 cargo deny --log-level off fetch db >/dev/null 2>&1; then
    checks+=(advisories)
else
    echo "   advisories are SKIPPED: their database could not be fetched"
fi

for manifest in Cargo.toml plugins/Cargo.toml; do
    echo "   $manifest: ${checks[*]}"
    # Duplicate versions are worth a look, not a page for each: `cargo deny check bans` shows where they come from.
    cargo deny --manifest-path "$manifest" --config deny.toml check --hide-inclusion-graph -A duplicate "${checks[@]}"
done
