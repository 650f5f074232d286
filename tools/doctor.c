/* tools/doctor.c - `mochi doctor`: describes the machine, and checks that the program makes use of it. */
#include "tools/core.h"
#include "tools/core_rate.h"
#include "tools/machine.h"
#include "tools/options.h"
#include "tools/versions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* ---- the examination ---- */

static double measure_mode(int threads, mo_math math) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = threads, .math = math});
    double rate = mo_ok(ctx) ? measure_product(ctx, 1536, MO_F32, 4) : NAN;
    mo_context_release(ctx);
    return rate;
}

static json_t *machine_object(void) {
    machine m = describe_machine();
    return json_pack("{s:s, s:s, s:i, s:i, s:o, s:[o,o,o], s:o, s:o, s:o, s:s}", "processor", m.processor,
        "instructions", m.instructions, "cores", m.cores, "cores_usable", m.cores_usable, "cores_quota",
        json_number(m.cores_quota), "cache_kib", json_number(m.cache_kib[0]), json_number(m.cache_kib[1]),
        json_number(m.cache_kib[2]), "memory_mib", json_number(m.memory_mib), "memory_available_mib",
        json_number(m.memory_available_mib), "memory_limit_mib", json_number(m.memory_limit_mib), "huge_pages",
        m.huge_pages);
}

/* The BLAS library: its kernels, how fast each is, and which to choose if others are faster than those in use. */
static json_t *blas_object(int threads) {
    const char *core = blas_core(), *best = NULL, *cores[MAX_CORES];
    double highest = 0, in_use = INFINITY;
    json_t *rates = json_object();
    int n = blas_core_candidates(cores, MAX_CORES);
    for (int i = 0; i < n; i++) {
        double rate = measure_core(cores[i], threads);
        json_object_set_new(rates, cores[i], json_number(rate));
        if (core && !strcasecmp(core, cores[i]))
            in_use = rate;
        if (rate > highest) {
            highest = rate;
            best = cores[i];
        }
    }
    return json_pack("{s:s?, s:s?, s:s?, s:s?, s:o, s:o}", "blas", core ? blas_build() : NULL, "core", core,
        "core_of_openblas", blas_core_of_openblas(), "core_best", best, "gemm_gflops", rates, "faster",
        highest > 1.05 * in_use ? json_sprintf("OPENBLAS_CORETYPE=%s mochi ..", best) : json_null());
}

/* NULL after a failure has been reported. */
static json_t *examine(int wanted) {
    char gpu[1024], libraries[256] = "";
    mo_context *ctx = open_context(wanted);
    if (!ctx)
        return NULL;
    int threads = mo_context_threads(ctx);
    bool safe = mo_context_blas_is_safe(ctx), has_gpu = mo_device_describe(MO_CUDA, gpu, sizeof gpu);
    mo_context_release(ctx);
    if (!mo_device_libraries(MO_CUDA, libraries, sizeof libraries))
        libraries[0] = 0;
    json_t *all = machine_object();
    json_object_update_new(all, json_pack("{s:i, s:b}", "threads", threads, "blas_is_safe", safe));
    json_object_update_new(all, blas_object(threads));
    json_object_update_new(all,
        json_pack("{s:o, s:o, s:b, s:s, s:s, s:o}", "float32_gflops", json_number(measure_mode(threads, MO_MATH_FP32)),
            "bf16_gflops", json_number(measure_mode(threads, MO_MATH_BF16)), "gpu", has_gpu, "gpu_note", gpu,
            "gpu_libraries", libraries, "libraries", library_versions()));
    return all;
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
    read_command_line(&doctor_line, argc, argv, &o, &(given_options){0});
    if (o.measure)
        return print_rate(&o);
    json_t *found = examine(o.threads);
    if (!found)
        return EXIT_FAILED;
    if (o.json)
        return print_json(found) ? EXIT_FINE : EXIT_FAILED;
    print_members(found, 0);
    json_decref(found);
    return EXIT_FINE;
}
