#!/usr/bin/env bash
# Tests `mochi` on the emulated device: fit gives the CPU's figures, embed rows of the CPU's shape; --device takes a
# number, --device-memory a limit. Usage: test_device_options.sh MOCHI
set -euo pipefail
mochi=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    echo "$1"
    exit 1
}
# refused TEXT COMMAND..: asserts exit status 1 and one line on standard error that contains TEXT.
refused() {
    local text=$1 status=0
    shift
    "$mochi" "$@" >out 2>err || status=$?
    [ "$status" != 0 ] && [ "$(wc -l <err)" = 1 ] && grep -qF -- "$text" err || fail "mochi $*: expected a line with \"$text\": $(cat err)"
}
# Prints accuracy, nll and Brier score of every head.
figures() { grep '"head"' "$1" | grep -oE '"(accuracy|nll|brier)":[0-9.]+' | awk -F: '{ print $1, $2 }'; }

"$mochi" embed --weights none --data mutag --out cpu.npy --labels y.npy >/dev/null
"$mochi" embed --weights none --data mutag --out cuda.npy --device cuda >/dev/null
[ "$(stat -c %s cpu.npy)" = "$(stat -c %s cuda.npy)" ] || fail "embed on the device writes other rows"
for device in cpu cuda; do
    "$mochi" fit cpu.npy y.npy --head ridge,logistic,svm --shots 4 --episodes 3 --device "$device" --json --quiet >"$device.json"
done
[ "$(figures cpu.json | wc -l)" = 9 ] || fail "$(cat cpu.json)"
paste -d' ' <(figures cpu.json) <(figures cuda.json) | awk '{ d = $2 - $4 } $1 != $3 || d > 1e-3 || d < -1e-3 { print; bad = 1 } END { exit bad }' ||
    fail "fit on the device has figures that differ by more than 1e-3"

MOCHI_CUDA_HOST_DEVICES=2 "$mochi" fit cpu.npy y.npy --head ridge --shots 4 --episodes 2 --device cuda:1 --json --quiet >/dev/null
refused 'there is no cuda:1, expected cuda:0 to cuda:0' fit cpu.npy y.npy --device cuda:1
refused 'out of memory' embed --weights none --data mutag --out never.npy --device cuda --device-memory 300K
[ ! -e never.npy ] || fail "an output was left behind"
refused '--device-memory: expected --device cuda beside it' fit cpu.npy y.npy --device-memory 1G
refused "--device cuda:N: expected" fit cpu.npy y.npy --device cuda:x
