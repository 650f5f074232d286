/* tools/doctor.c - `mochi doctor`: says whether the program runs well on this machine, and what to change; then
 * describes the machine. */
#include "tensor/cpu/fast/blas_core.h"
#include "tensor/cpu/fast/onednn.h"
#include "tools/cli/machine.h"
#include "tools/cli/options.h"
#include "tools/cli/versions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
    "Says whether the program runs well on this machine and, for each thing to change, why and what to type. Then "
    "describes the machine: processor, caches and memory; the BLAS library, the kernels that it uses on this "
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

/* ---- the advice ---- */

/* One thing to change: the reason, and what to type. A hint is optional, and does not count as a fault. */
static void advise(json_t *list, bool hint, const char *type, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void advise(json_t *list, bool hint, const char *type, const char *format, ...) {
    char reason[512];
    va_list rest;
    va_start(rest, format);
    vsnprintf(reason, sizeof reason, format, rest);
    va_end(rest);
    json_array_append_new(list, json_pack("{s:b, s:s, s:s}", "hint", hint, "reason", reason, "type", type));
}

static double number_of(const json_t *found, const char *key) {
    const json_t *value = json_object_get(found, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void advise_on_environment(json_t *list) {
    static const struct {
        const char *name, *effect;
    } held[] = {
        {"OPENBLAS_CORETYPE", "BLAS uses the kernels of that processor, whatever this one is"},
        {"ONEDNN_MAX_CPU_ISA", "oneDNN leaves out the newer instructions of this processor"},
        {"MOCHI_DEBUG", "every run checks for freed tensors, and its memory grows"},
    };
    char type[64];
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        const char *value = getenv(held[i].name);
        if (!value || !*value)
            continue;
        snprintf(type, sizeof type, "unset %s", held[i].name);
        advise(list, false, type, "%s is set to '%.40s': %s", held[i].name, value, held[i].effect);
    }
    if (!getenv("MOCHI_CACHE"))
        advise(list, true, "export MOCHI_CACHE=~/.cache/mochi; mkdir -p $MOCHI_CACHE",
            "features of a graph are computed in every run; a cache keeps them");
}

/* Whether the weights that every labelling reads are there. */
static void advise_on_weights(json_t *list) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    mo_weights *weights = mo_weights_read(ctx, "best");
    if (!weights)
        advise(list, false, getenv("MOCHI_EMBEDDED") ? "unset MOCHI_EMBEDDED" : "meson install -C build",
            "the weights `best`, which label graphs, cannot be read: %s", mo_context_status(ctx)->message);
    mo_weights_release(weights);
    mo_context_release(ctx);
}

/* Returns a list of what to change, for what examine found. */
static json_t *advice_on(const json_t *found) {
    json_t *list = json_array();
    double threads = number_of(found, "threads"), quota = number_of(found, "cores_quota");
    double memory = number_of(found, "memory_available_mib"), limit = number_of(found, "memory_limit_mib");
    double fp32 = number_of(found, "float32_gflops"), bf16 = number_of(found, "bf16_gflops");
    char type[64];
    advise_on_weights(list);
    if (!json_is_true(json_object_get(found, "blas_is_safe")))
        advise(list, false, "apt-get install libopenblas-serial-dev, and build again",
            "BLAS may not be called from several threads, so ops take turns");
    if (json_is_null(json_object_get(found, "onednn")))
        advise(list, false, "apt-get install libdnnl-dev, and build again",
            "oneDNN is not there: float32 products run in plain loops");
    if (threads > ceil(quota)) {
        snprintf(type, sizeof type, "--threads %.0f", ceil(quota));
        advise(list, false, type, "%.0f threads share the %.3g cores that the container grants", threads, quota);
    }
    memory = limit < memory ? limit : memory;
    if (memory < 2048) {
        snprintf(type, sizeof type, "--memory %.0fM --cache DIR", memory / 2);
        advise(list, false, type, "%.0f MiB of memory are free; a graph of 20,000 nodes takes about 1 GiB", memory);
    }
    if (!json_is_true(json_object_get(found, "gpu")) && access("/dev/nvidiactl", F_OK) == 0)
        advise(list, false, "tools/guides/machines.md has the steps", "there is a GPU that the program cannot use: %s",
            json_string_value(json_object_get(found, "gpu_note")));
    if (bf16 > 2 * fp32)
        advise(list, true, "--math bf16", "products in bf16 are %.1f times as fast here as in float32", bf16 / fp32);
    advise_on_environment(list);
    return list;
}

static void print_advice(const char *verdict, const json_t *list) {
    printf("%s\n", verdict);
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) {
        printf("%s: %s\n", json_is_true(json_object_get(one, "hint")) ? "hint" : "change",
            json_string_value(json_object_get(one, "reason")));
        printf("    type: %s\n", json_string_value(json_object_get(one, "type")));
    }
    putchar('\n');
}

/* ---- the command ---- */

int doctor_command(int argc, char **argv) {
    doctor_options o = {0};
    read_command_line(&doctor_line, argc, argv, &o, &(given_options){0});
    json_t *found = examine(o.threads);
    if (!found)
        return EXIT_FAILED;
    json_t *advice = advice_on(found), *one;
    size_t i, faults = 0;
    json_array_foreach(advice, i, one) faults += json_is_false(json_object_get(one, "hint"));
    char verdict[64] = "mochi runs well on this machine";
    if (faults)
        snprintf(verdict, sizeof verdict, "%zu thing%s to change on this machine", faults, faults > 1 ? "s" : "");
    if (o.json)
        json_object_update_new(found, json_pack("{s:s, s:o}", "verdict", verdict, "advice", advice));
    if (o.json)
        return print_json(found) ? EXIT_FINE : EXIT_FAILED;
    print_advice(verdict, advice);
    print_members(found, 0);
    json_decref(advice);
    json_decref(found);
    return EXIT_FINE;
}
