#!/usr/bin/env bash
# tests/cli/test_symbols.sh - the exported symbols are the ops that ops/ops.h declares and the names of tests/symbols.txt,
# and nothing is imported with which a library could print, exit, or depend on or change a setting of its host.
# Usage: tests/cli/test_symbols.sh LIBRARY [--update]      --update: writes tests/symbols.txt; commit it with the change
set -euo pipefail
export LC_ALL=C
here=$(dirname "${BASH_SOURCE[0]}")
list=$here/../symbols.txt
root=$here/../..
header=$root/ops/ops.h
# The headers of mochi.h; mochi/inside.h adds the others.
public=(tools/mochi.h tensor/tensor.h autograd/autograd.h ops/ops.h models/head.h models/models.h train/train.h)
library=$1

# Names of compilers, sanitizers and OpenMP's locks are not ours to list.
exported() { nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }' | grep -v '^__\|^\.' | sort; }
# The functions that headers declare: a declaration is MO_API, a type and the name before the first parenthesis.
functions() { cat "$@" | tr '\n' ' ' | grep -o 'MO_API [^(]*(' | sed 's/ *($//; s/.*[ *]//' | sort; }
ops() { functions "$header"; }
listed() { sort "$list" <(ops); }
imported() { nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $2); print $2 }' | sort -u; }

if [ "${2:-}" = --update ]; then
    comm -23 <(exported) <(ops) >"$list"
    exit
fi
failed=0
difference=$(diff -U0 <(listed) <(exported) | grep '^[-+][^-+]' || true)
if [ -n "$difference" ]; then
    echo "[  FAILED  ] exported symbols differ from ops/ops.h and tests/symbols.txt (- gone, + new):"
    echo "$difference"
    echo "Where that is intended: tests/cli/test_symbols.sh $library --update"
    failed=1
else
    echo "[       OK ] $(listed | wc -l) exported symbols as listed, $(ops | wc -l) of them ops"
fi

# Beside the ops, at most 110 functions, and 30 more for later additions.
beside_ops=$(comm -23 <(cd "$root" && functions "${public[@]}") <(ops) | wc -l)
lines=$(cd "$root" && cat "${public[@]}" | wc -l)
if [ "$beside_ops" -gt 140 ] || [ "$beside_ops" -lt 50 ]; then
    echo "[  FAILED  ] mochi.h declares $beside_ops functions beside the ops, expected 50 to 140"
    failed=1
else
    echo "[       OK ] mochi.h: $(ops | wc -l) ops, $beside_ops other functions, ${#public[@]} headers of $lines lines"
fi

# The guard of the BLAS allocator must carry OpenBLAS's name (tensor/cpu/fast/blas_guard.c).
if exported | grep -v '^mo_\|^blas_memory_alloc$'; then
    echo "[  FAILED  ] exported names above lack the prefix mo_"
    failed=1
else
    echo "[       OK ] every exported name has the prefix mo_"
fi

prints='stdout|stderr|_IO_2_1_.*|v?printf|puts|putchar|putc|perror|psignal|err|errx|warn|warnx|syslog|__v?printf_chk'
ends='__assert_fail|exit|_exit|_Exit|quick_exit|abort|raise|kill|atexit|on_exit|__cxa_atexit|execv?.*|fork|system'
sets='signal|sigaction|sigprocmask|pthread_sigmask|setlocale|fesetround|fesetenv|feholdexcept|fesetexceptflag'
sets+='|feenableexcept|fedisableexcept|feraiseexcept|omp_set_.*|openblas_set_.*|setenv|unsetenv|putenv|clearenv|chdir'
# These read numbers as the host's locale writes them; tensor/files/number_text.c reads and writes them as C does, and puts
# the thread's locale back (tests/train/test_locale.c).
sets+='|strto(d|f|ld)|atof|wcsto.*|json_v?sprintf|json_loads|json_load_file|json_dump_file'
sets+='|umask|srand|srandom|srand48|setrlimit|sched_setaffinity|alarm|setitimer|mlockall'
if [ -n "${SANITIZERS:-}" ]; then
    echo "[  SKIPPED ] imports: a sanitizer brings its own"
elif imported | grep -xE "$prints|$ends|$sets"; then
    echo "[  FAILED  ] the imports above print, end the process, read or change its settings"
    failed=1
else
    echo "[       OK ] nothing is imported that prints, ends the process, reads or changes its settings"
fi
exit $failed
