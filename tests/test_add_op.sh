#!/usr/bin/env bash
# tests/test_add_op.sh - an op without a kernel needs changes in five files: its own, the list, the header, the build, the
# table of adjoints. Adds one to a copy of the tree in a temporary folder, and compiles the op and the list.
# Usage: tests/test_add_op.sh [whole]      whole: all is built, the op passes the gradient checks to order two, and the
# quick suite passes with it.
set -euo pipefail
[ -z "${MOCHI_HALF_SQUARE:-}" ] || { echo "skipped: the tree has the op half_square"; exit 77; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tree=$PWD
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
parts=(meson.build meson_options.txt README.md LICENSE autograd models ops tensor tests tools train)
cp -r "${parts[@]}" "$copy"
claim() {
    if ! "${@:2}" >"$copy/log" 2>&1; then
        echo "[  FAILED  ] $1: ${*:2}"
        tail -20 "$copy/log"
        exit 1
    fi
    echo "[       OK ] $1"
}

cd "$copy"
cat >ops/half_square.c <<'EOF'
/* ops/half_square.c - Y = X^2 / 2, entry by entry.
 *
 * X [..] -> Y [..], float32 or float64. dY = X dX, so X_bar = X Y_bar. */
#include "ops/inside.h"
#include "tensor/storage.h"

static bool half_square_shape(mo_call *c) {
    return mo_call_real(c, 0, 0) && mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape);
}

static void half_square_forward(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    const mo_kernels *k = mo_kernels_of(c->ctx, y.dtype);
    k->map1(c->ctx, MO_MAP_SQUARE, 0, 0, &x, &y);
    k->map1(c->ctx, MO_MAP_SCALE, 0.5, 0, &y, &y);
}

static void half_square_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->in[0], v->out_bar[0]);
}

static const mo_sample half_square_samples[] = {{.name = "matrix", .in = "[3, 4]"}};

const mo_op mo_op_half_square = {
    .name = "half_square",
    .n_in = 1,
    .reads_in = 1,
    .shape = half_square_shape,
    .forward = half_square_forward,
    .vjp = half_square_vjp,
    MO_SAMPLES(half_square_samples),
};

mo_tensor *mo_half_square(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_half_square, (mo_tensor *[]){X}, 1, NULL);
}
EOF
sed -i 's/^OP(implicit_solve)$/OP(half_square)\n&/' ops/ops.list
sed -i 's/^MO_API mo_tensor \*mo_square(.*/&\nMO_API mo_tensor *mo_half_square(mo_tape *t, mo_tensor *X);/' ops/ops.h
sed -i "s/^  'logdet.c',$/  'half_square.c',\n&/" ops/meson.build
row='| `half_square` Y = X² \/ 2 | X dX | X_bar = X Y_bar | [half_square_vjp](half_square.c) |'
sed -i "s/^| \`neg\`, \`exp\`/$row\n&/" ops/ADJOINTS.md

touched=$(for part in "${parts[@]}"; do diff -rq "$tree/$part" "$part" || true; done | sed 's/.*[/ ]\([^/ ]*\) differ$/\1/; s/.*: //')
if [ "$(wc -l <<<"$touched")" != 5 ]; then
    echo "[  FAILED  ] expected 5 files touched, found:" $touched
    exit 1
fi
echo "[       OK ] 5 files touched:" $touched
tests=false
[ "${1:-}" = whole ] && tests=true
claim "the tree with the op is configured" meson setup build -Dbuildtype=release -Dwerror=true -Dcuda=disabled -Dtests=$tests
claim "the op and the list are compiled" ninja -C build libmochi.so.0.1.0.p/ops_{half_square,registry}.c.o
claim "the table of adjoints names it" tests/ops/test_adjoints.py
[ "${1:-}" = whole ] || exit 0
claim "the program and the library are built" ninja -C build
claim "its declaration exports its symbol" tests/cli/test_symbols.sh build/libmochi.so
claim "its gradients are right to order two" build/tools/mochi gradcheck half_square --order 2
claim "the quick suite passes with it" env MOCHI_HALF_SQUARE=1 meson test -C build --no-rebuild
