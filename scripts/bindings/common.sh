# What the scripts of this folder share. Sourced by each, with LANGUAGE set.

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
tools=$root/.tools/bindings
built=$target/debug
fixtures=$built/mcp-resident-fixtures
reports=$target/parity
export MCP_RESIDENT_FIXTURES=$fixtures
mkdir -p "$tools" "$reports"

# In CI a Cargo.lock that does not fit is an error, as in the Makefile.
locked=()
if [ -n "${CI:-}" ]; then
    locked=(--locked)
fi

# needs PROGRAM...: without them the language is skipped by name; with CI set that is an error.
needs() {
    local program
    for program; do
        if ! command -v "$program" >/dev/null 2>&1; then
            missing "\`$program\` is not installed"
        fi
    done
}

# missing REASON: ends the script.
missing() {
    if [ -n "${CI:-}" ]; then
        echo "error: $LANGUAGE: $1" >&2
        exit 1
    fi
    echo "skipped: $LANGUAGE: $1"
    exit 0
}

# title WHAT: a heading that the summary of CI shows.
title() {
    echo "== $LANGUAGE: $1 =="
}

# play HOST...: plays all scenarios with this host program. REPORT=FILE writes what passed.
play() {
    title "${PLAYED:-scenarios}"
    timeout 900 "$fixtures" play --language "$LANGUAGE" ${REPORT:+--report "$REPORT"} -- "$@"
}
