#!/usr/bin/env bash
# Reports what training steps queue on a device that does nothing, and the host's processor time for one, as mochi-bench
# measures it; fails if a step queues more than the limit below. Usage: test_null_step.sh MOCHI_BENCH
set -euo pipefail
bench=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# step CASE MODE NAME: writes what one step queues to NAME: the work of the last run between two waits.
step() {
    MOCHI_CUDA_NULL_TRACE=$folder/trace "$bench" step "$1" --device cuda --math "$2" --warmup 2 --runs 1 --json >"$folder/json"
    awk '/^wait/ { if (n > 20) { last = work } n = 0; work = ""; next } !/load/ { n++; work = work $0 "\n" } END { printf "%s", last }' \
        "$folder/trace" | sed '/^event/d; /^order/d' >"$folder/$3"
}

# Fails if a step of a case queues more work than the limit.
limit() {
    local pieces
    step "$1" "$2" limited
    pieces=$(wc -l <"$folder/limited")
    echo "$1 $2: $pieces pieces of work, at most $3"
    [ "$pieces" -le "$3" ]
}

step nc15 tf32 rule
cut -d' ' -f1 "$folder/rule" | sort | uniq -c | sort -rn
"$bench" step nc15 --device cuda --math tf32 --warmup 20 --runs 50 --json | grep -o '"processor_ms":[0-9.]*'
limit nc15 tf32 77
limit nc15 bf16 96
limit nc64 tf32 85
limit lp tf32 90
limit gc_enzymes tf32 85
