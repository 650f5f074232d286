/* tools/doctor.c - `mochi doctor`: describes the machine, and checks that the program makes use of it. */
#include "tools/core.h"
#include "tools/core_rate.h"
#include "tools/machine.h"
#include "tools/options.h"
#include "tools/versions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CORES = 4 };

typedef struct doctor_options {
    int threads;
    bool json, measure;
} doctor_options;

static const option table[] = {
    THREADS_OPTION(doctor_options, threads),
    JSON_OPTION(doctor_options, json, "one JSON object on standard output"),
    {OPTION_END},
};

/* A child process of this one, with its own set of BLAS kernels, is asked for "measure" (core_rate.c). */
static void take_measure(void *options, const char *word, const struct argp_state *state) {
    if (strcmp(word, "measure") != 0)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected options only", word);
    ((doctor_options *)options)->measure = true;
}

static const char about[] =
    "Tells what the machine offers: processor, caches and memory; the BLAS library, the kernels it takes for this "
    "processor and how fast they and other sets are at a float32 product, each measured in a process of its own; how "
    "fast products of --math bf16 are, if the processor has them; "
    "whether BLAS may be called from several threads; the GPU; versions of libraries.";

const command_line doctor_line = {.table = table, .about = about, .take_word = take_measure};

/* The results of the examination. */
typedef struct findings {
    machine machine;
    int threads, n_cores, best; /* best: index in cores, -1 if none could be measured */
    bool blas_is_safe;
    const char *cores[MAX_CORES];
    double rate[MAX_CORES]; /* GFLOP/s, of float64 */
    double float32_rate;    /* by BLAS, or by kernels of the library's own */
    double bf16_rate;       /* NaN if the processor has no such products */
    bool has_gpu;
    char gpu[1024];          /* its name, or the reason why there is none */
    char gpu_libraries[256]; /* "" if there are none */
} findings;

/* ---- the examination ---- */

static double measure_mode(int threads, mo_math math) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = threads, .math = math});
    double rate = mo_ok(ctx) ? measure_product(ctx, 1536, MO_F32, 4) : NAN;
    mo_context_release(ctx);
    return rate;
}

static bool examine_machine(const doctor_options *o, findings *f) {
    mo_context *ctx = open_context(o->threads);
    if (!ctx)
        return false;
    f->machine = describe_machine();
    f->threads = mo_context_threads(ctx);
    f->blas_is_safe = mo_context_blas_is_safe(ctx);
    mo_context_release(ctx);
    f->has_gpu = mo_device_describe(MO_CUDA, f->gpu, sizeof f->gpu);
    if (!mo_device_libraries(MO_CUDA, f->gpu_libraries, sizeof f->gpu_libraries))
        f->gpu_libraries[0] = 0;
    f->best = -1;
    f->n_cores = blas_core_candidates(f->cores, MAX_CORES);
    for (int i = 0; i < f->n_cores; i++) {
        f->rate[i] = measure_core(f->cores[i], f->threads);
        if (isfinite(f->rate[i]) && (f->best < 0 || f->rate[i] > f->rate[f->best]))
            f->best = i;
    }
    f->float32_rate = measure_mode(f->threads, MO_MATH_FP32);
    f->bf16_rate = measure_mode(f->threads, MO_MATH_BF16);
    return true;
}

static void print_machine(const machine *m) {
    printf("processor   %s; cores: %d online, %d usable", m->processor[0] ? m->processor : "unknown", m->cores,
        m->cores_usable);
    if (isfinite(m->cores_quota))
        printf(", the time of %.1f", m->cores_quota);
    printf("\n            %s\ncaches      L1 %.0f KiB, L2 %.0f KiB, L3 %.0f KiB\n", m->instructions, m->cache_kib[0],
        m->cache_kib[1], m->cache_kib[2]);
    printf("memory      %.0f MiB, %.0f available", m->memory_mib, m->memory_available_mib);
    if (isfinite(m->memory_limit_mib))
        printf(", limited to %.0f", m->memory_limit_mib);
    printf("; huge pages: %s\n", m->huge_pages[0] ? m->huge_pages : "unknown");
}

static void print_findings(const findings *f) {
    const char *core = blas_core(), *own = blas_core_of_openblas();
    print_machine(&f->machine);
    printf("threads     %d; in BLAS: %s\n", f->threads,
        f->blas_is_safe ? "as many (its allocator is guarded, or needs no guard)"
                        : "1 (a serial OpenBLAS was loaded before libmochi)");
    printf("BLAS        %s\n", core ? blas_build() : "not OpenBLAS");
    if (core)
        printf(
            "kernels     %s in use; OpenBLAS's own choice: %s\n", core, own ? own : "overridden by OPENBLAS_CORETYPE");
    for (int i = 0; i < f->n_cores; i++)
        printf("            %-16s %8.1f GFLOP/s of float64%s%s\n", f->cores[i], f->rate[i],
            core && !strcasecmp(core, f->cores[i]) ? "  in use" : "", i == f->best ? "  best" : "");
    for (int i = 0; core && f->best >= 0 && i < f->n_cores; i++)
        if (!strcasecmp(core, f->cores[i]) && f->rate[f->best] > 1.05 * f->rate[i])
            printf("            faster: OPENBLAS_CORETYPE=%s mochi ..\n", f->cores[f->best]);
    printf("float32     %.1f GFLOP/s\n", f->float32_rate);
    if (isfinite(f->bf16_rate))
        printf("bf16        %.1f GFLOP/s by --math bf16\n", f->bf16_rate);
    else
        printf("bf16        none: the processor has no AVX512-BF16, which --math bf16 wants on the CPU\n");
    printf("GPU         %s%s\n", f->has_gpu ? "" : "none: ", f->gpu);
    if (f->gpu_libraries[0])
        printf("            %s\n", f->gpu_libraries);
    json_t *versions = library_versions(), *version;
    const char *name, *separator = "libraries   ";
    json_object_foreach(versions, name, version) {
        printf("%s%s %s", separator, name, json_string_value(version));
        separator = ", ";
    }
    putchar('\n');
    json_decref(versions);
}

static bool print_findings_json(const findings *f) {
    const machine *m = &f->machine;
    const char *core = blas_core(), *own = blas_core_of_openblas();
    json_t *rates = json_object();
    for (int i = 0; i < f->n_cores; i++)
        json_object_set_new(rates, f->cores[i], json_number(f->rate[i]));
    json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:o, s:[o,o,o], s:o, s:o, s:o, s:s}", "processor", m->processor,
        "instructions", m->instructions, "cores", m->cores, "cores_usable", m->cores_usable, "cores_quota",
        json_number(m->cores_quota), "cache_kib", json_number(m->cache_kib[0]), json_number(m->cache_kib[1]),
        json_number(m->cache_kib[2]), "memory_mib", json_number(m->memory_mib), "memory_available_mib",
        json_number(m->memory_available_mib), "memory_limit_mib", json_number(m->memory_limit_mib), "huge_pages",
        m->huge_pages);
    json_t *more = json_pack("{s:i, s:b, s:s?, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:b, s:s, s:s, s:o}", "threads",
        f->threads, "blas_is_safe", f->blas_is_safe, "blas", core ? blas_build() : NULL, "core", core,
        "core_of_openblas", own, "core_best", f->best < 0 ? NULL : f->cores[f->best], "gemm_gflops", rates,
        "float32_gflops", json_number(f->float32_rate), "bf16_gflops", json_number(f->bf16_rate), "gpu", f->has_gpu,
        "gpu_note", f->gpu, "gpu_libraries", f->gpu_libraries, "libraries", library_versions());
    bool made = o && more && json_object_update_new(o, more) == 0;
    return print_json(made ? o : NULL);
}

/* ---- the command ---- */

static int print_rate(const doctor_options *o) {
    mo_context *ctx = open_context(o->threads);
    double rate = ctx ? measure_product(ctx, 1536, MO_F64, 4) : NAN; /* float32 may not be BLAS's */
    int code = ctx && mo_ok(ctx) ? EXIT_FINE : EXIT_FAILED;
    printf("%s %.17g\n", blas_core() ? blas_core() : "unknown", rate);
    mo_context_release(ctx);
    return code;
}

int doctor_command(int argc, char **argv) {
    doctor_options o = {0};
    findings f = {0};
    read_command_line(&doctor_line, argc, argv, &o, &(given_options){0});
    if (o.measure)
        return print_rate(&o);
    if (!examine_machine(&o, &f))
        return EXIT_FAILED;
    if (o.json)
        print_findings_json(&f);
    else
        print_findings(&f);
    return EXIT_FINE;
}
