#!/usr/bin/env bash
# tests/golden/test_peer.sh - a run of the PyTorch peer made anew, from a seed that is not that of the stored one, gives
# the losses, gradient norms and parameters of ours over 100 steps in float64, to 1e-9.
# Usage: tests/golden/test_peer.sh GOLDEN      the program `golden`. Skipped without PyTorch (MOCHI_PYTHON names the
# Python that has it) or without mochi_torch.py, which is looked for in MOCHI_SHARED/peer (default ../shared/peer).
set -euo pipefail
golden=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
peer=${MOCHI_SHARED:-../shared}/peer
python=${MOCHI_PYTHON:-python3}
if [ ! -f "$peer/mochi_torch.py" ]; then
    echo "skipped: no $peer/mochi_torch.py"
    exit 77
fi
if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
    echo "skipped: $python does not import torch and numpy; MOCHI_PYTHON names one that does"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHONDONTWRITEBYTECODE=1 "$python" tests/golden/make_peer.py --peer "$peer" --out "$folder" --seed 11
"$golden" "$folder" | tee "$folder/log"
grep -q '^peer: 100 steps' "$folder/log" # it ran
