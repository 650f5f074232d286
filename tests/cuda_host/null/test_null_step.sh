#!/usr/bin/env bash
# States what one training step queues and how long the host takes for it, on a device that does nothing; fails where
# tensor/cuda/README.md gives other counts. Usage: test_null_step.sh MOCHI
set -euo pipefail
mochi=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Writes the lines of one step: the lines of a run of six steps that a run of five lacks.
step() {
    local runs
    for runs in 5 6; do
        MOCHI_CUDA_NULL_TRACE=$folder/$runs "$mochi" bench step nc15 --device cuda --math tf32 --warmup 2 --runs "$runs" --json >"$folder/json"
    done
    grep -cv -e '^wait' -e '^event' -e load "$folder/5" >"$folder/before" || true
    grep -v -e '^wait' -e '^event' -e load "$folder/6" | tail -n "+$(($(cat "$folder/before") + 1))" >"$folder/$1"
}
step rule
MOCHI_CUDA_LIBRARIES=never step never
pieces=$(wc -l <"$folder/rule") products=$(grep -c '^product' "$folder/rule") never=$(wc -l <"$folder/never")
cut -d' ' -f1 "$folder/rule" | sort | uniq -c | sort -rn
grep -o '"min_ms":[0-9.]*' "$folder/json"
said="queues $products products among $pieces pieces of work ($never with \`MOCHI_CUDA_LIBRARIES=never\`"
if ! tr '\n' ' ' <tensor/cuda/README.md | tr -s ' ' | grep -qF -- "$said"; then
    echo "tensor/cuda/README.md does not say: $said"
    exit 1
fi
