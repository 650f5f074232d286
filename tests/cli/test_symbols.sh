#!/usr/bin/env bash
# tests/cli/test_symbols.sh - the shared library exports exactly what mochi.h's headers declare, which is bounded in
# size; and it imports no function that prints, exits, or reads or changes a setting of the host program.
# Usage: tests/cli/test_symbols.sh LIBRARY
set -euo pipefail
export LC_ALL=C
library=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# The headers of mochi.h: the library's own, and those for writing and testing an op, a head or an encoder.
public=(tools/mochi.h tensor/tensor.h autograd/autograd.h ops/ops.h models/models.h train/train.h)
plugins=(autograd/op.h models/head.h models/encoder.h train/evaluate.h)

# The names that compilers, sanitizers and OpenMP's locks add are not counted.
exported() { nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }' | grep -v '^__\|^\.' | sort; }
declared() { tools/exports "$@" | grep -oE '[a-z_0-9]+;' | tr -d ';' | sort; }
# Counts declarations: MO_API, a type, and the name before the first parenthesis.
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

# The bound: 200 functions in 900 lines, plus a twentieth for additions.
count=$(functions "${public[@]}") lines=$(cat "${public[@]}" | wc -l)
if [ "$count" -gt 210 ] || [ "$count" -lt 100 ] || [ "$lines" -gt 945 ]; then
    echo "[  FAILED  ] mochi.h: $count functions in $lines lines beside the plug-ins' interfaces, expected 100 to 210 in at most 945"
    failed=1
else
    echo "[       OK ] mochi.h: $count functions in $lines lines, and $(functions "${plugins[@]}") in $(cat "${plugins[@]}" | wc -l) for plug-ins"
fi

prints='stdout|stderr|_IO_2_1_.*|v?printf|puts|putchar|putc|perror|psignal|err|errx|warn|warnx|syslog|__v?printf_chk'
ends='__assert_fail|exit|_exit|_Exit|quick_exit|abort|raise|kill|atexit|on_exit|__cxa_atexit|execv?.*|fork|system'
sets='signal|sigaction|sigprocmask|pthread_sigmask|setlocale|fesetround|fesetenv|feholdexcept|fesetexceptflag'
sets+='|feenableexcept|fedisableexcept|feraiseexcept|omp_set_.*|openblas_set_.*|setenv|unsetenv|putenv|clearenv|chdir'
# These functions read or write numbers by the host's locale. tensor/files/number_text.c sets the C locale for the
# thread and restores it (tests/train/test_locale.c).
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
