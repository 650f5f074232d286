/* tests/fuzz/make_seeds.c - writes the seeds of fuzz targets, as the commands' own files would be larger:
 *
 *     ninja -C build tests/make_seeds && build/tests/make_seeds tests/fuzz/seeds */
#include "fuzz_files.h"
#include "fuzz_run.h"
#include "fuzz_stack.h"

#include <jansson.h>

/* Returns a file's bytes; NULL if it is missing. */
static char *bytes_of(const char *path, size_t *n) {
    static char room[1 << 16];
    FILE *file = fopen(path, "rb");
    *n = file ? fread(room, 1, sizeof room, file) : 0;
    if (!file || fclose(file) != 0 || *n == sizeof room)
        abort();
    return room;
}

static void write_to(FILE *out, const void *bytes, size_t n) {
    if (!out || fwrite(bytes, 1, n, out) != n)
        abort();
}

/* Writes a safetensors file without its digests. */
static void write_stripped(FILE *out, const char *path) {
    size_t n, header_bytes = 0;
    unsigned char *b = (unsigned char *)bytes_of(path, &n), size[8];
    for (int i = 7; i >= 0; i--)
        header_bytes = header_bytes << 8 | b[i];
    json_t *header = json_loadb((char *)b + 8, header_bytes, 0, NULL);
    json_t *metadata = json_object_get(header, "__metadata__");
    json_object_del(metadata, "xxh3_header");
    json_object_del(metadata, "xxh3_tensors");
    char *text = json_dumps(header, JSON_COMPACT);
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)(strlen(text) >> (8 * i));
    write_to(out, size, 8);
    write_to(out, text, strlen(text));
    write_to(out, b + 8 + header_bytes, n - 8 - header_bytes);
    free(text);
    json_decref(header);
}

static FILE *seed(const char *folder, const char *name) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "wb");
}

static void write_run(mo_context *ctx, const char *seeds) {
    static const char *const names[] = {"run.json", "log.jsonl"};
    fuzz_folder folder;
    char path[160];
    fuzz_open(&folder, names, 0, NULL, 0);
    mo_pool *pool = fuzz_pool(ctx);
    mo_model *model = mo_invariant_create(ctx, MO_F32, NULL);
    mo_trainer *trainer = fuzz_trainer(ctx, model, pool, folder.path);
    mo_trainer_run(trainer, NULL, NULL);
    mo_trainer_finish(trainer);
    FILE *out = seed(seeds, "run/run.parts");
    for (int i = 0; i < 2; i++) {
        size_t n;
        char *bytes = bytes_of(fuzz_path(&folder, names[i], path), &n);
        write_to(out, bytes, n);
        write_to(out, "|", 1);
    }
    write_stripped(out, fuzz_path(&folder, MO_CHECKPOINT, path));
    FILE *weights = seed(seeds, "weights/invariant.safetensors"), *small = seed(seeds, "small.safetensors");
    size_t n;
    write_stripped(weights, fuzz_path(&folder, "weights.safetensors", path));
    char *bytes = bytes_of(path, &n);
    write_to(small, bytes, n);
    if (fclose(out) + fclose(weights) + fclose(small) != 0)
        abort();
    mo_trainer_release(trainer);
    mo_model_release(model);
    mo_pool_release(pool);
    fuzz_remove(&folder);
}

static void write_mochi_weights(mo_context *ctx, const char *seeds) {
    fuzz_folder folder;
    char path[160];
    fuzz_open(&folder, &(const char *){"unused"}, 0, NULL, 0);
    mo_mochi_options o = mo_mochi_defaults();
    mo_feature_options features = {.dim = 2, .hops = 1};
    o.encoder.dim = 2;
    o.encoder.hops = 1;
    mo_model *model = mo_mochi_create(ctx, MO_F32, &o, 1);
    mo_weights_write(ctx, model, &(mo_weights_about){&features, (int[MO_TASKS]){0}, 1, "paper++", NULL},
        fuzz_path(&folder, "w", path));
    FILE *out = seed(seeds, "weights/mochi.safetensors");
    write_stripped(out, path);
    if (fclose(out) != 0)
        abort();
    mo_model_release(model);
    fuzz_remove(&folder);
}

static void write_stack(mo_context *ctx, const char *seeds) {
    fuzz_folder folder;
    char file[MO_CACHE_NAME + 16], path[160];
    size_t n;
    fuzz_open(&folder, &(const char *){"unused"}, 0, NULL, 0);
    if (fuzz_open_stack(ctx, folder.path) == 0)
        abort();
    fuzz_stack_name(file);
    char *bytes = bytes_of(fuzz_path(&folder, file, path), &n);
    FILE *out = seed(seeds, "stack/whole.stack");
    write_to(out, bytes, n);
    if (fclose(out) != 0)
        abort();
    fuzz_remove(&folder);
}

int main(int argc, char **argv) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    if (argc != 2)
        return 2;
    write_run(ctx, argv[1]);
    write_mochi_weights(ctx, argv[1]);
    write_stack(ctx, argv[1]);
    printf("%s\n", mo_ok(ctx) ? "written" : mo_context_status(ctx)->message);
    return mo_context_release(ctx) != MO_OK;
}
