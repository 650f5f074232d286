#!/usr/bin/env bash
# tests/cli/test_symbols.sh - the shared library exports what mochi.h's headers declare and no more, these are few, and nothing is
# imported with which a library could print, exit, or depend on or change a setting of its host.
# Usage: tests/cli/test_symbols.sh LIBRARY
set -euo pipefail
export LC_ALL=C
library=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# What mochi.h includes: the library's own, and what an op, head or encoder of one's own is written against and tried with.
public=(tools/mochi.h tensor/tensor.h autograd/autograd.h ops/ops.h models/models.h train/train.h)
plugins=(autograd/op.h models/head.h models/encoder.h train/evaluate.h)

# Names of compilers, sanitizers and OpenMP's locks are not ours to list.
exported() { nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }' | grep -v '^__\|^\.' | sort; }
declared() { tools/exports "$@" | grep -oE '[a-z_0-9]+;' | tr -d ';' | sort; }
# A declaration of a function is MO_API, a type and the name before the first parenthesis.
functions() { cat "$@" | tr '\n' ' ' | grep -o 'MO_API [^;(]*(' | wc -l; }
imported() { nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $2); print $2 }' | sort -u; }

failed=0
difference=$(diff -U0 <(declared "${public[@]}" "${plugins[@]}") <(exported) | grep '^[-+][^-+]' || true)
if [ -n "$difference" ]; then
    echo "[  FAILED  ] exported symbols differ from what the headers declare (- not exported, + not declared):"
    echo "$difference"
    failed=1
else
    echo "[       OK ] $(exported | wc -l) exported symbols, as declared"
fi

count=$(functions "${public[@]}") lines=$(cat "${public[@]}" | wc -l)
if [ "$count" -gt 200 ] || [ "$count" -lt 100 ] || [ "$lines" -gt 900 ]; then
    echo "[  FAILED  ] mochi.h: $count functions in $lines lines beside the plug-ins' interfaces, expected 100 to 200 in at most 900"
    failed=1
else
    echo "[       OK ] mochi.h: $count functions in $lines lines, and $(functions "${plugins[@]}") in $(cat "${plugins[@]}" | wc -l) for plug-ins"
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
