#!/usr/bin/env bash
# tests/long_training.sh - trains by the recipe `best` on one embedded set, 20,000 steps from each of 8 seeds: every
# step must be finite, and the run must end with weights. Only this test runs longer than the default 400 steps:
# rounding that grows in a profile behind a block's rank, which no embedding shows, would be seen here.
# Usage: MOCHI=PROGRAM tests/long_training.sh SET [SEEDS [STEPS]]
set -euo pipefail
set_name=$1 seeds=${2:-8} steps=${3:-20000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export MOCHI_CACHE=$folder/cache

for ((seed = 0; seed < seeds; seed++)); do
    run=$folder/$seed
    "$MOCHI" train --pool "$set_name" --seed "$seed" --steps "$steps" --threads 1 --out "$run" --quiet
    [ -s "$run/weights.safetensors" ] || { echo "$set_name, seed $seed: no weights"; exit 1; }
    python3 - "$run/log.jsonl" "$steps" <<'END'
import json, math, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) == int(sys.argv[2]), f"{len(lines)} steps in the log"
for line in lines:
    assert math.isfinite(line["loss"]) and math.isfinite(line["gradient_norm"]), line
END
    echo "$set_name, seed $seed: $steps steps, the last of loss $(tail -n 1 "$run/log.jsonl" | sed 's/.*"loss":\([^,]*\),.*/\1/')"
    rm -r "$run"
done
