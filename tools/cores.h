/* tools/cores.h - rows of a table: the kernels that OpenBLAS is asked for, by processor; the first row that fits holds.
 * Where no row fits, OpenBLAS's own choice stays. core.c includes the rows, and mochi/_library.py reads this file, so
 * that the program and Python run on the same kernels.
 *
 * OpenBLAS picks its kernels by processor model. Debian's version 0.3.21 knows no newer models: it takes AVX2 kernels
 * on processors of Intel with AVX-512, half as fast, and SSE3 kernels (Prescott) on models that it cannot place at all.
 * On Zen 4 it takes AVX-512 kernels, which that processor executes in two halves, 5% slower than AVX2 kernels. Columns:
 * core, vendor and family as in /proc/cpuinfo (family 0: any), and the flags that the processor must have. */
{"Haswell", "AuthenticAMD", 25, "avx512f"}, /* Zen 4; Zen 3 is of this family too, without AVX-512 */
    {"SkylakeX", "GenuineIntel", 0, "avx512f avx512bw avx512cd avx512dq avx512vl"},
    {"Haswell", "GenuineIntel", 0, "avx2 bmi1 bmi2 fma"},
