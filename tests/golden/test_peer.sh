#!/usr/bin/env bash
# tests/golden/test_peer.sh - makes a new run of the PyTorch peer, from another seed than the stored run's, and checks
# that our losses, gradient norms and parameters equal its over 100 steps in float64, to 1e-9. The step that
# tools/bench/step_torch.py times gives the stored vectors too.
# Usage: tests/golden/test_peer.sh GOLDEN      the program `golden`.
# Skipped without PyTorch (MOCHI_PYTHON names the Python that has it); the 100 steps without mochi_torch.py in
# MOCHI_SHARED/peer (default ../shared/peer).
set -euo pipefail
golden=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
peer=${MOCHI_SHARED:-../shared}/peer
python=${MOCHI_PYTHON:-python3}
if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
    echo "skipped: $python does not import torch and numpy; MOCHI_PYTHON names one that does"
    exit 77
fi
PYTHONDONTWRITEBYTECODE=1 "$python" tests/golden/check_step_torch.py
if [ ! -f "$peer/mochi_torch.py" ]; then
    echo "skipped: no $peer/mochi_torch.py"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHONDONTWRITEBYTECODE=1 "$python" tests/golden/make_peer.py --peer "$peer" --out "$folder" --seed 11
"$golden" "$folder" | tee "$folder/log"
grep -q '^peer: 100 steps' "$folder/log" # it ran
