#!/usr/bin/env bash
# Checks that a release build and a build with sanitizers compute the same bits: runs `mochi train` by both over recipes
# and tasks, and compares weights and moments in the checkpoints. Builds the second program for the processor that the
# first was built for, as AVX-512 sums in another order, unless SANITIZED names one.
# Usage: MOCHI=PROGRAM tests/same_bits.sh SOURCES [STEPS]
set -euo pipefail
sources=$1 steps=${2:-6}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$sources"
other=${SANITIZED:-$folder/build/tools/mochi}
cpu=$(meson introspect --buildoptions "$(dirname "$MOCHI")/.." | python3 -c "
import json, sys
print(next(o['value'] for o in json.load(sys.stdin) if o['name'] == 'cpu'))")
[ -n "${SANITIZED:-}" ] ||
    { meson setup "$folder/build" -Dcpu="$cpu" -Dcuda=disabled -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false &&
        ninja -C "$folder/build" tools/mochi; } >"$folder/log" 2>&1 || { tail -n 20 "$folder/log"; exit 1; }
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1

train() { # train PROGRAM RUN RECIPE POOL
    MOCHI_CACHE=$2.cache "$1" train --recipe "$3" --pool "$4" --dim 32 --steps "$steps" --threads 1 --quiet --out "$2"
}
same=0
for recipe in paper paper++ released best; do
    for pool in cora:nc+lp mutag:gc photo:nc,enzymes:gc gnutella06:lp; do
        run=$folder/$recipe-$pool
        if ! { train "$MOCHI" "$run.release" "$recipe" "$pool" && train "$other" "$run.sanitized" "$recipe" "$pool"; } \
            2>"$folder/log"; then
            echo "$recipe, $pool: $(tail -n 1 "$folder/log")"
        elif ! cmp "$run.release/checkpoint.safetensors" "$run.sanitized/checkpoint.safetensors"; then
            echo "$recipe, $pool: the checkpoints differ"
        else
            same=$((same + 1))
        fi
        rm -rf "$run".*
    done
done
echo "$same of 16 runs the same in a release and a sanitized build"
[ "$same" = 16 ]
