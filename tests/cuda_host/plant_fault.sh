#!/usr/bin/env bash
# Writes SOURCE with the changes of FAULT.sed to OUT; fails if they change nothing.
# Usage: plant_fault.sh FAULT.sed SOURCE OUT
set -euo pipefail
sed -f "$1" "$2" >"$3"
if cmp -s "$2" "$3"; then
    echo "$1 changes nothing in $2"
    exit 1
fi
