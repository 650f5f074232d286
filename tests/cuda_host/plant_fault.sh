#!/usr/bin/env bash
# Writes SOURCE, changed by FAULT.sed, to OUT; fails if nothing was changed.
# Usage: plant_fault.sh FAULT.sed SOURCE OUT
set -euo pipefail
sed -f "$1" "$2" >"$3"
if cmp -s "$2" "$3"; then
    echo "$1 changes nothing in $2"
    exit 1
fi
