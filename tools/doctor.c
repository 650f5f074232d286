/* tools/doctor.c - `mochi doctor`: describes the machine, and checks that the program uses it well. */
#include "tensor/cpu/fast/blas_core.h"
#include "tensor/cpu/fast/onednn.h"
#include "tools/machine.h"
#include "tools/options.h"
#include "tools/versions.h"

#include <math.h>

typedef struct doctor_options {
    int threads;
    bool json;
} doctor_options;

static const option table[] = {
    THREADS_OPTION(doctor_options, threads),
    JSON_OPTION(doctor_options, json, "one JSON object on standard output"),
    {OPTION_END},
};

static const char about[] =
    "Describes the machine: processor, caches and memory; the BLAS library, the kernels that it uses on this "
    "processor and those that it chose by itself; the instructions that oneDNN uses; the speed of float32 products, "
    "and of --math bf16 products; "
    "whether BLAS may be called from several threads; the GPU; versions of libraries. "
    "Other kernels: OPENBLAS_CORETYPE=Haswell ONEDNN_MAX_CPU_ISA=AVX2 mochi doctor.";

const command_line doctor_line = {.table = table, .about = about};

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

/* Measures the machine as an object; NULL after a failure has been reported. */
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
    json_object_update_new(all, json_pack("{s:i, s:b, s:s?, s:s?, s:s?, s:s}", "threads", threads, "blas_is_safe", safe,
                                    "blas", blas_core() ? blas_build() : NULL, "core", blas_core(), "core_of_openblas",
                                    blas_core_before(), "onednn", onednn_kernels()));
    json_object_update_new(all,
        json_pack("{s:o, s:o, s:b, s:s, s:s, s:o}", "float32_gflops", json_number(measure_mode(threads, MO_MATH_FP32)),
            "bf16_gflops", json_number(measure_mode(threads, MO_MATH_BF16)), "gpu", has_gpu, "gpu_note", gpu,
            "gpu_libraries", libraries, "libraries", library_versions()));
    return all;
}

/* ---- the command ---- */

int doctor_command(int argc, char **argv) {
    doctor_options o = {0};
    read_command_line(&doctor_line, argc, argv, &o, &(given_options){0});
    json_t *found = examine(o.threads);
    if (!found)
        return EXIT_FAILED;
    if (o.json)
        return print_json(found) ? EXIT_FINE : EXIT_FAILED;
    print_members(found, 0);
    json_decref(found);
    return EXIT_FINE;
}
