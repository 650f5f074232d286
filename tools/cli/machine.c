/* tools/cli/machine.c - facts about the machine from the operating system (/proc, /sys and sysconf), and its measured
 * rate. */
#include "tools/cli/machine.h"

#include "tensor/library.h"
#include "tensor/platform.h"
#include "tools/cli/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads a value from the first line of a file that matches the pattern, which has one conversion. */
static bool scan_file(const char *path, const char *pattern, void *value) {
    char line[4096];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, pattern, value) == 1;
    if (file)
        fclose(file);
    return found;
}

static void list_instructions(char *text, size_t bytes) {
#if defined(__x86_64__)
    const struct {
        const char *name;
        bool there;
    } sets[] = {{"avx", __builtin_cpu_supports("avx")}, {"avx2", __builtin_cpu_supports("avx2")},
        {"fma", __builtin_cpu_supports("fma")}, {"avx512f", __builtin_cpu_supports("avx512f")},
        {"avx512bw", __builtin_cpu_supports("avx512bw")}, {"avx512dq", __builtin_cpu_supports("avx512dq")},
        {"avx512vl", __builtin_cpu_supports("avx512vl")}, {"avx512cd", __builtin_cpu_supports("avx512cd")},
        {"avx512bf16", __builtin_cpu_supports("avx512bf16")}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (sets[i].there)
            snprintf(text + strlen(text), bytes - strlen(text), "%s%s", *text ? " " : "", sets[i].name);
#else
    (void)text, (void)bytes;
#endif
}

/* Reads the first core's cache from /sys, because on some processors sysconf counts shared caches several times. */
static double cache_kib(int level) {
    static const char *const paths[] = {"/sys/devices/system/cpu/cpu0/cache/index0/size",
        "/sys/devices/system/cpu/cpu0/cache/index2/size", "/sys/devices/system/cpu/cpu0/cache/index3/size"};
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    double kib;
    if (scan_file(paths[level], "%lfK", &kib))
        return kib;
    long bytes = sysconf(names[level]);
    return bytes > 0 ? (double)bytes / 1024 : NAN;
}

static double mib_of(const char *path, const char *pattern, double unit) {
    double value;
    return scan_file(path, pattern, &value) ? value * unit / (1 << 20) : NAN;
}

/* cpu.max holds "quota period" in microseconds, or "max period" without a limit. */
static double read_cpu_quota(void) {
    double microseconds, period;
    if (!scan_file("/sys/fs/cgroup/cpu.max", "%lf", &microseconds) ||
        !scan_file("/sys/fs/cgroup/cpu.max", "%*f %lf", &period))
        return NAN;
    return microseconds / period;
}

machine describe_machine(void) {
    machine m = {.cores = (int)sysconf(_SC_NPROCESSORS_ONLN), .cores_quota = read_cpu_quota()};
    cpu_set_t set;
    m.cores_usable = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : m.cores;
    scan_file("/proc/cpuinfo", "model name : %127[^\n]", m.processor);
    list_instructions(m.instructions, sizeof m.instructions);
    scan_file("/sys/kernel/mm/transparent_hugepage/enabled", "%*[^[][%15[^]]", m.huge_pages);
    if (!m.huge_pages[0]) /* the file lists all three settings, the active one in brackets */
        scan_file("/sys/kernel/mm/transparent_hugepage/enabled", "[%15[^]]", m.huge_pages);
    for (int level = 0; level < 3; level++)
        m.cache_kib[level] = cache_kib(level);
    m.memory_mib = mib_of("/proc/meminfo", "MemTotal: %lf", 1024);
    m.memory_available_mib = mib_of("/proc/meminfo", "MemAvailable: %lf", 1024);
    m.memory_limit_mib = mib_of("/sys/fs/cgroup/memory.max", "%lf", 1);
    return m;
}

double measure_product(mo_context *ctx, int64_t n, mo_dtype dtype, int runs) {
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *A = synthetic_normal_of(ctx, dtype, 2, (int64_t[]){n, n}, 0);
    mo_tensor *B = synthetic_normal_of(ctx, dtype, 2, (int64_t[]){n, n}, 1);
    double fastest = INFINITY;
    for (int i = 0; i <= runs && mo_ok(ctx); i++) { /* the first run warms up */
        double start = mo_clock(CLOCK_MONOTONIC);
        mo_matmul(t, A, B);
        mo_tape_reset(t);
        mo_context_wait(ctx);
        if (i)
            fastest = fmin(fastest, mo_clock(CLOCK_MONOTONIC) - start);
    }
    mo_tape_release(t);
    mo_tensor_release(A);
    mo_tensor_release(B);
    return mo_ok(ctx) ? 2e-9 * (double)n * (double)n * (double)n / fastest : NAN;
}
