#!/usr/bin/env bash
# Measures the share of lines of the library and the program that the ordinary suites execute: makes its own build with
# gcc's counters, runs every test except those of the emulated device, and calls gcovr. Fails below 95%; lists the files
# below 90%.
# Usage: tests/line_coverage.sh SOURCES [LEAST]
set -euo pipefail
sources=$1 least=${2:-95}
command -v gcovr >/dev/null || { echo "skipped: no gcovr (Debian package gcovr)"; exit 77; }
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cd "$sources"
meson setup "$build" -Dtests=true -Dcuda=disabled -Dbuildtype=debugoptimized -Db_coverage=true >"$build.log" 2>&1 &&
    ninja -C "$build" >>"$build.log" 2>&1 || { tail -n 20 "$build.log"; rm -f "$build.log"; exit 1; }
rm -f "$build.log"
# Failures are ignored, as the ordinary run reports them.
meson test -C "$build" --no-rebuild --no-suite cuda-host --no-suite long --no-suite hours --timeout-multiplier 4 >/dev/null 2>&1 </dev/null || true
gcovr --root "$sources" "$build" --gcov-ignore-parse-errors --exclude '.*tests/' --exclude '.*tools/examples/' \
    --exclude '.*tensor/cuda/' --json-summary "$build/summary.json" >/dev/null
python3 - "$build/summary.json" "$least" <<'END'
import json, sys
summary, least = json.load(open(sys.argv[1])), float(sys.argv[2])
files = sorted(summary["files"], key=lambda f: f["line_percent"] or 0)
for f in files:
    if (f["line_percent"] or 0) < 90 and f["line_total"]:
        print(f"{f['filename']}: {f['line_covered']} of {f['line_total']} lines")
covered, total = summary["line_covered"], summary["line_total"]
print(f"{100 * covered / max(total, 1):.1f}% of {total} lines in {len(files)} files executed, at least {least:g}% expected")
sys.exit(total < 10000 or 100 * covered < least * total)
END
