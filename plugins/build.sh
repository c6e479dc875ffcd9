#!/usr/bin/env bash
# Builds all guests and lays each out as a package folder: target/plugins/<name>/ and target/test-plugins/<name>/.
#
# The machine needs the standard library of wasm32-wasip2. This script takes the first way that works:
#   rustup   it is there, or `rustup target add wasm32-wasip2` fetches it;
#   debian   Debian packages bring its source and a compiler of the same version; it is built once, in about two minutes.
# MAINSTAY_WASM_TOOLCHAIN=rustup or =debian forces one of them. Nothing is copied that has not changed.
set -euo pipefail

plugins=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$plugins")
triple=wasm32-wasip2
debian_packages=(rustc-web cargo-web rust-web-src wasi-libc)
debian_rustc=/usr/bin/rustc
debian_cargo=/usr/bin/cargo
debian_libc=/usr/lib/wasm32-wasi
fetch_seconds=${MAINSTAY_FETCH_SECONDS:-90}

# Flags beside those of .cargo/config.toml (RUSTFLAGS would replace them): panics name their place without the folders of
# this machine, and the same sources give the same component anywhere.
remap=("--remap-path-prefix=$root=mainstay" "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo")

say() { printf 'plugins: %s\n' "$*" >&2; }
fail() {
    printf 'plugins: error: %s\n' "$1" >&2
    shift
    for hint in "$@"; do printf '  %s\n' "$hint" >&2; done
    exit 1
}

# --- the rustup way ---------------------------------------------------------------------------------------------------

sysroot() { rustc --print sysroot; }

has_target() { [[ -d "$(sysroot)/lib/rustlib/$triple/lib" ]]; }

fetch_target() {
    command -v rustup >/dev/null || { say "there is no rustup here"; return 1; }
    local attempt
    for attempt in 1 2; do
        say "fetching the $triple standard library with rustup (attempt $attempt of 2, at most $fetch_seconds s)"
        if timeout "$fetch_seconds" rustup target add "$triple" >&2 && has_target; then
            return 0
        fi
    done
    return 1
}

rustup_build() { CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS="${remap[*]}" cargo build "$@"; }

# --- the Debian way ---------------------------------------------------------------------------------------------------

missing_packages() {
    local package
    for package in "${debian_packages[@]}"; do
        dpkg-query --show --showformat='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || echo "$package"
    done
}

install_packages() {
    command -v dpkg-query >/dev/null || fail "neither rustup nor Debian packages can bring the $triple standard library" \
        "Install it by hand (rustup target add $triple) and run this again."
    local missing
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]} == 0)) && return 0
    say "installing ${missing[*]} (Debian packages, once)"
    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null || fail "installing packages needs root" "Run as root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -qq >&2 || say "apt-get update failed; trying with the lists that are there"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2 ||
        fail "the packages could not be installed" "Run and read: apt-get install ${missing[*]}"
}

# The linkers come with the ordinary toolchain; the Debian compiler has none for components.
find_linkers() {
    local host bin
    host=$(rustc -vV | sed -n 's/^host: //p')
    bin=$(sysroot)/lib/rustlib/$host/bin
    [[ -x $bin/wasm-component-ld ]] || fail "$bin has no wasm-component-ld" \
        "Install a Rust toolchain of 1.95 or later with rustup, and put it first on PATH."
    linkers=$bin:$bin/gcc-ld
}

debian_build() {
    env -u RUSTUP_TOOLCHAIN PATH="$linkers:$PATH" RUSTC=$debian_rustc RUSTDOC=/usr/bin/rustdoc RUSTC_BOOTSTRAP=1 \
        CARGO_TARGET_DIR="$root/target/guests-debian" \
        CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS="-L native=$debian_libc ${remap[*]}" \
        $debian_cargo build -Zbuild-std=std,panic_abort "$@"
}

# --- which way --------------------------------------------------------------------------------------------------------

use_rustup() {
    build=rustup_build
    built=$root/target/guests/$triple/release
}

use_debian() {
    install_packages
    find_linkers
    build=debian_build
    built=$root/target/guests-debian/$triple/release
    [[ -d $built ]] || say "building the standard library from source, about two minutes, once"
}

choose_way() {
    command -v rustc >/dev/null || fail "there is no rustc" "Install Rust 1.95 or later: https://rustup.rs"
    case "${MAINSTAY_WASM_TOOLCHAIN:-}" in
    rustup)
        has_target || fetch_target || fail "rustup could not fetch the $triple standard library" \
            "Unset MAINSTAY_WASM_TOOLCHAIN to let this script fall back to Debian packages."
        say "building with the rustup toolchain, as MAINSTAY_WASM_TOOLCHAIN says"
        use_rustup
        ;;
    debian)
        say "building with the Debian toolchain, as MAINSTAY_WASM_TOOLCHAIN says"
        use_debian
        ;;
    '')
        if has_target || fetch_target; then
            say "building with the rustup toolchain, which has the $triple standard library"
            use_rustup
        else
            say "falling back to Debian packages: rustup could not bring the $triple standard library"
            use_debian
        fi
        ;;
    *) fail "MAINSTAY_WASM_TOOLCHAIN is '$MAINSTAY_WASM_TOOLCHAIN'" "It may be 'rustup', 'debian' or unset." ;;
    esac
}

# --- building and laying out ------------------------------------------------------------------------------------------

bundled=(approvals files rehearsal)

test_programs() {
    local manifest
    for manifest in "$root"/tests/programs/*/plugin.toml; do
        [[ -e $manifest ]] && basename "$(dirname "$manifest")"
    done
}

build_guests() {
    local selection=() name
    for name in "${bundled[@]}" files-next $(test_programs); do selection+=(--package "$name"); done
    (cd "$plugins" && "$build" --locked --release --target "$triple" "${selection[@]}")
}

copied=0
put() {
    cmp -s "$1" "$2" && return 0
    # By rename: a host that loads the file meanwhile sees the old one or the new one.
    cp "$1" "$2.new"
    mv "$2.new" "$2"
    copied=$((copied + 1))
}

# lay_out NAME CRATE SOURCE-FOLDER PACKAGE-FOLDER
lay_out() {
    local name=$1 crate=$2 source=$3 package=$4 extra
    mkdir -p "$package"
    put "$built/${crate//-/_}.wasm" "$package/$name.wasm"
    for extra in plugin.toml config.schema.json README.md; do
        if [[ -e $source/$extra ]]; then put "$source/$extra" "$package/$extra"; fi
    done
}

# Another build of `files`, for trying a hot swap: its own manifest, everything else is that of `files`.
lay_out_next() {
    local package=$root/target/plugins/files-next
    lay_out files files-next "$plugins/files/next" "$package"
    put "$plugins/files/config.schema.json" "$package/config.schema.json"
    put "$plugins/files/README.md" "$package/README.md"
}

main() {
    choose_way
    mkdir -p "$root/target"
    # Two builds at once would copy each other's half-made files.
    exec 9>"$root/target/.plugins.lock"
    flock 9
    build_guests
    local name
    for name in "${bundled[@]}"; do lay_out "$name" "$name" "$plugins/$name" "$root/target/plugins/$name"; done
    lay_out_next
    for name in $(test_programs); do
        lay_out "$name" "$name" "$root/tests/programs/$name" "$root/target/test-plugins/$name"
    done
    say "done: target/plugins and target/test-plugins ($copied files changed)"
}

main "$@"
