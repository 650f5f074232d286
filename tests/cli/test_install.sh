#!/usr/bin/env bash
# tests/cli/test_install.sh - tests that a C program outside the tree needs only what `meson install` installs.
# Usage: tests/cli/test_install.sh BUILD      BUILD: the build folder, up to date
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0
# claim NAME COMMAND..: the command must succeed; its output is shown if it fails.
claim() {
    if "${@:2}" >"$root/log" 2>&1; then
        echo "[       OK ] $1"
    else
        echo "[  FAILED  ] $1: ${*:2}"
        cat "$root/log"
        failed=1
    fi
}

DESTDIR=$root meson install -C "$build" --no-rebuild >"$root/log"
prefix=$root$(sed -n 's/^prefix=//p' "$(find "$root" -name mochi.pc)")
libraries=$(dirname "$(find "$prefix" -name libmochi.so)")
# pkg-config prefixes mochi.pc's paths with the staging folder.
export PKG_CONFIG_PATH=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root LD_LIBRARY_PATH=$libraries
export MOCHI_EMBEDDED=$prefix/share/mochi/data
read -ra flags <<<"$(pkg-config --cflags mochi)"
read -ra shared <<<"$(pkg-config --libs mochi)"
read -ra static <<<"$(pkg-config --libs --static mochi)"
archive=("${static[@]/#-lmochi/-l:libmochi.a}") # the archive also has what mochi/inside.h declares
compiler=${CC:-cc}
run_example() { "$root/$1" | tee "$root/$1.out" && grep -q "$2" "$root/$1.out"; }
no_libmochi() { ! ldd "$1" | grep libmochi; }

# The examples and guides are taken from the installation.
guides=$prefix/share/doc/mochi
examples=$guides/tools/examples
for guide in README.md ops/ADJOINTS.md train/FORMATS.md train/evaluation/RESULTS.md \
    $(find tensor autograd ops models train tools -name README.md); do
    claim "installs_$guide" test -s "$guides/$guide"
done
claim installs_every_example diff <(ls tools/examples) <(ls "$examples")
for source in "$examples"/*.c; do
    name=$(basename "$source" .c)
    if grep -q 'mochi/inside.h' "$source"; then against=("${archive[@]}"); else against=("${shared[@]}"); fi
    claim "${name}_builds_outside_the_tree" \
        "$compiler" -Wall -Wextra -Werror "$source" "${flags[@]}" "${against[@]}" -lm -o "$root/$name"
done
claim the_program_finds_its_library env -u LD_LIBRARY_PATH "$prefix/bin/mochi" --version
claim ridge_trains run_example ridge "step 200  query loss 0\.[0-5]"
# The first object of this program fails; its last line must be reached and print why.
sed 's/{4, 32}/{-4, 32}/' tools/examples/ridge.c >"$root/ridge_wrong.c"
"$compiler" "$root/ridge_wrong.c" "${flags[@]}" "${shared[@]}" -lm -o "$root/ridge_wrong"
says_why() {
    "$root/ridge_wrong" 2>&1 | tee "$root/ridge_wrong.out"
    [ "${PIPESTATUS[0]}" = 1 ] && grep -q "axis 0 has size -4, expected 0 or more" "$root/ridge_wrong.out"
}
claim ridge_of_a_wrong_shape_says_so says_why
claim maml_learns_to_learn run_example maml "step 3000 .* after one inner step 0\."
claim hull_ends_as_a_pentagon run_example hull "step 200 .* 0\.691 0\.691 0\.691 0\.691 0\.691"
claim custom_head_passes run_example custom_head "order 2: .* pass"
claim deep_equilibrium_learns run_example deep_equilibrium "step 150 .* accuracy 0\.9"
claim hypergradient_beats_the_grid run_example hypergradient "step 60 .* gradient [+-]0\.000"
claim implicit_logistic_agrees_with_unrolled run_example implicit_logistic "embeddings: [0-9.]*e-\(0[789]\|1\)"
claim custom_op_passes run_example custom_op "order 2: .* pass"

# Lessons: their programs succeed. The checker accepts right answers; it rejects an unfilled skeleton, and a right value
# without a gradient.
grades() { # grades LESSON NAME ANSWERS: builds a lesson's checker
    "$compiler" -Wall -Wextra -Werror "$examples/checker/check.c" "$examples/$1/grade.c" "$3" "${flags[@]}" "${shared[@]}" \
        -lm -o "$root/$1_$2"
}
says_not_yet() { # PROGRAM NAME..: fails, says "not yet" of these exercises and "right" of no other
    local status=0
    "$1" >"$1.out" || status=$?
    cat "$1.out"
    [ $status = 1 ] && diff <(printf '%s: not yet\n' "${@:2}") <(grep ': not yet$' "$1.out")
}
for lesson in closed_form cross_entropy equilibrium gp_evidence leave_one_out own_op penalties qp_layer spectrum unrolled; do
    claim "${lesson}_has_its_text" grep -q "^## Exercises" "$examples/$lesson/README.md"
    if [ -e "$examples/$lesson/lesson.c" ]; then
        claim "${lesson}_has_at_most_80_lines" test "$(wc -l <"$examples/$lesson/lesson.c")" -le 80
        claim "${lesson}_builds" "$compiler" -Wall -Wextra -Werror "$examples/$lesson/lesson.c" "${flags[@]}" \
            "${shared[@]}" -lm -o "$root/$lesson"
        claim "${lesson}_ends_well" "$root/$lesson"
    fi
    claim "${lesson}_solutions_build" grades "$lesson" solutions "$examples/$lesson/solutions.c"
    claim "${lesson}_solutions_are_right" "$root/${lesson}_solutions"
    claim "${lesson}_exercises_build" grades "$lesson" exercises "$examples/$lesson/exercises.c"
    mapfile -t names < <("$root/${lesson}_solutions" | sed -n 's/: right$//p')
    claim "${lesson}_has_two_exercises" test "${#names[@]}" = 2
    claim "${lesson}_exercises_are_not_yet" says_not_yet "$root/${lesson}_exercises" "${names[@]}"
done
sed 's/mo_solve(t, K, /mo_solve(t, mo_stop_gradient(t, K), /' "$examples/qp_layer/solutions.c" >"$root/half_right.c"
claim a_value_without_its_gradient_builds grades qp_layer half_right "$root/half_right.c"
claim a_value_without_its_gradient_is_not_yet says_not_yet "$root/qp_layer_half_right" projection price

claim gin_autoencoder_learns run_example gin_autoencoder "step 200  loss 0\.[345]"
claim few_shot_predicts run_example few_shot "28 labels: expected accuracy [4-9][0-9]%"

# Only the archive, in a folder that is searched first, so that the linker cannot use the shared library.
mkdir "$root/archive"
cp "$libraries/libmochi.a" "$root/archive"
claim ridge_links_statically "$compiler" "$examples/ridge.c" "${flags[@]}" "-L$root/archive" "${static[@]}" \
    -o "$root/ridge_static"
claim the_static_program_needs_no_libmochi no_libmochi "$root/ridge_static"
claim the_static_program_trains env -u LD_LIBRARY_PATH "$root/ridge_static"
cat >"$root/guard.c" <<'END'
#include <mochi/inside.h>
int main(void) {
    mo_context *ctx = mo_context_create(NULL);
    bool safe = mo_context_blas_is_safe(ctx);
    mo_context_release(ctx);
    return !safe;
}
END
claim the_static_program_guards_blas "$compiler" "$root/guard.c" "${flags[@]}" "-L$root/archive" "${static[@]}" \
    -o "$root/guard"
claim the_static_guard_holds "$root/guard"

claim custom_op_builds_as_a_shared_object \
    "$compiler" -shared -fPIC "$examples"/custom_op.c "${flags[@]}" "${shared[@]}" -lm -o "$root/custom_op.so"
claim the_program_checks_it "$prefix/bin/mochi" gradcheck --op "$root/custom_op.so" lorentzian
certifies_it() { "$prefix/bin/mochi" gradcheck --certificate --op "$root/custom_op.so" lorentzian | grep "certificate .* pass"; }
claim the_program_certifies_it certifies_it
claim custom_head_builds_as_a_shared_object \
    "$compiler" -shared -fPIC "$examples"/custom_head.c "${flags[@]}" "${shared[@]}" -o "$root/custom_head.so"
claim the_program_checks_the_head "$prefix/bin/mochi" gradcheck --head "$root/custom_head.so"
claim the_program_trains_with_the_head "$prefix/bin/mochi" train --recipe paper++ --pool mutag --dim 8 --k 2:4 \
    --q 2:5 --steps 3 --head "$root/custom_head.so" --out "$root/run" --quiet
claim the_program_evaluates_the_head "$prefix/bin/mochi" eval --weights "$root/run/weights.safetensors" --data mutag \
    --shots 4 --seeds 2 --head "$root/custom_head.so"

claim custom_encoder_learns run_example custom_encoder "embeddings of 2708 nodes, 32 wide"
claim custom_encoder_builds_as_a_shared_object \
    "$compiler" -shared -fPIC tools/examples/custom_encoder.c "${flags[@]}" "${shared[@]}" -o "$root/custom_encoder.so"
claim the_program_checks_the_encoder "$prefix/bin/mochi" gradcheck --encoder "$root/custom_encoder.so"
claim the_program_trains_the_encoder "$prefix/bin/mochi" train --pool mutag --dim 8 --k 2:4 --q 2:5 --steps 3 \
    --encoder "$root/custom_encoder.so" --head "$root/custom_head.so" --out "$root/encoded" --quiet
claim the_program_evaluates_the_encoder "$prefix/bin/mochi" eval --weights "$root/encoded/weights.safetensors" \
    --encoder "$root/custom_encoder.so" --data mutag --shots 4 --seeds 2 --head "$root/custom_head.so,ridge"
claim the_program_embeds_by_the_encoder "$prefix/bin/mochi" embed --weights "$root/encoded/weights.safetensors" \
    --encoder "$root/custom_encoder.so" --data mutag --out "$root/Z.npy"

# A user's op, head and encoder, made from the skeletons by the build lines that the program prints.
mkdir "$root/new"
for kind in op head encoder; do
    own=$root/new/my_$kind
    claim "new_writes_an_$kind" eval "cd '$root/new' && '$prefix/bin/mochi' new $kind my_$kind"
    claim "the_skeleton_of_an_${kind}_builds" "$compiler" -Wall -Wextra -Werror -shared -fPIC "$own.c" "${flags[@]}" "${shared[@]}" -lm -o "$own.so"
    claim "the_skeleton_of_an_${kind}_passes_gradcheck" "$prefix/bin/mochi" gradcheck "--$kind" "$own.so"
    claim "the_test_of_an_${kind}_builds" "$compiler" -Wall -Wextra -Werror "$own.c" "${flags[@]}" "${shared[@]}" -lm -o "$own"
    claim "the_test_of_an_${kind}_passes" "$own"
done
claim the_skeleton_of_a_head_is_evaluated "$prefix/bin/mochi" eval --weights none --data mutag --dim 16 --hop 1 --shots 4 \
    --seeds 2 --head "$root/new/my_head.so"
claim the_skeleton_of_an_encoder_trains "$prefix/bin/mochi" train --pool mutag --dim 16 --steps 3 --quiet \
    --encoder "$root/new/my_encoder.so" --out "$root/new/run"
claim the_program_finds_installed_graphs "$prefix/bin/mochi" data info cora
claim the_manifest_is_installed "$prefix/bin/mochi" data list --all
claim the_converter_is_installed eval '{ python3 -B "$prefix/share/mochi/data/convert.py" 2>&1 || true; } | grep -q "become .npz"'
for header in mochi inside; do
    claim "${header}_h_is_strict_c11" "$compiler" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c \
        "${flags[@]}" "$prefix/include/mochi/$header.h"
done
# A project whose folders have the library's names: either side finds its own headers, whichever include path comes
# first.
of_the_prefix_include_alone() { [ "$(printf '%s\n' "${flags[@]}" | grep -F -e "-I$prefix")" = "-I$prefix/include" ]; }
for header in tensor/tensor autograd/autograd ops/ops models/models models/head train/train train/graph; do
    mkdir -p "$root/own/${header%/*}"
    echo "enum { OWN_$(tr a-z/ A-Z_ <<<"$header") };" >"$root/own/$header.h"
    printf '#include "%s.h"\n' "$header" >>"$root/own/first.h"
    echo "int uses_${header#*/}_of_${header%/*}[] = {OWN_$(tr a-z/ A-Z_ <<<"$header")};" >>"$root/own/uses.h"
done
printf '#include "first.h"\n#include <mochi/mochi.h>\n#include "uses.h"\nmo_trainer *trainer; mo_head head;\n' >"$root/own/before.c"
printf '#include <mochi/mochi.h>\n#include "first.h"\n#include "uses.h"\nmo_trainer *trainer; mo_head head;\n' >"$root/own/after.c"
claim flags_add_the_folder_include_alone of_the_prefix_include_alone
for order in before after; do
    claim "own_headers_${order}_ours" "$compiler" -fsyntax-only "-I$root/own" "$root/own/$order.c" "${flags[@]}"
    claim "ours_${order}_own_headers" "$compiler" -fsyntax-only "$root/own/$order.c" "${flags[@]}" "-I$root/own"
done
if command -v "${CXX:-c++}" >/dev/null; then
    for header in mochi inside; do
        claim "${header}_h_is_cxx" "${CXX:-c++}" -Wall -Wextra -Werror -fsyntax-only -x c++ "${flags[@]}" \
            "$prefix/include/mochi/$header.h"
    done
fi

# Every command has a page in the manual and is known to the shell's completion.
commands=$("$prefix/bin/mochi" --help | sed -n 's/^  \([a-z-]\+\)  .*/\1/p')
claim the_program_has_commands test "$(wc -w <<<"$commands")" -ge 8
completes() {
    local replies
    replies=$(PATH=$prefix/bin:$PATH bash -c "source '$prefix/share/bash-completion/completions/mochi'
        COMP_WORDS=($1) COMP_CWORD=$2; _mochi; printf '%s\n' \"\${COMPREPLY[@]}\"")
    grep -qxF -e "$3" <<<"$replies"
}
for command in $commands; do
    claim "completion_knows_$command" completes "mochi ${command:0:2}" 1 "$command"
    if command -v scdoc >/dev/null; then
        claim "manual_explains_$command" grep -q "^\.SS $command" "$prefix/share/man/man1/mochi.1"
    fi
done
claim completion_knows_options completes "mochi train --po" 2 --pool
claim completion_knows_heads completes "mochi train --head ld" 3 lda
claim completion_knows_graphs completes "mochi eval --data co" 3 cora

exit $failed
