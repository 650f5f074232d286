#!/usr/bin/env bash
# Asserts that a program fails on a backend with a planted fault, with the given text.
# Usage: test_fault.sh BACKEND TEXT PROGRAM [ARGUMENT...]
set -uo pipefail
backend=$1 text=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$backend" "$folder/libmochi-cuda.so"
status=0
MOCHI_DEVICE=cuda LD_LIBRARY_PATH="$folder" "$@" >"$folder/log" 2>&1 || status=$?
if [ "$status" = 0 ] || [ "$status" = 77 ]; then
    echo "the fault was not found; $1 ends with $status"
    tail -n 3 "$folder/log"
    exit 1
fi
if ! grep -qF -- "$text" "$folder/log"; then
    echo "expected a line with: $text"
    tail -n 20 "$folder/log"
    exit 1
fi
grep -F -- "$text" "$folder/log" | head -n 1
echo "1 planted fault found"
