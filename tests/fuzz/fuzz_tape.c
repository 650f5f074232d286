/* tests/fuzz/fuzz_tape.c - any graph as a .tape file: the JSON text of the graph, then '|' and the name and shape of a
 * float64 tensor, as often as there are. A graph that is read is printed in every form. */
#include "autograd/inside.h"
#include "fuzz_files.h"

#include <jansson.h>

enum { MOST_SIZE = 8 };

/* "v0 2 3": a tensor of zeros. */
static void add_tensor(mo_arrays *arrays, const char *text) {
    char name[32];
    int64_t shape[MO_MAX_AXES];
    int ndim = 0, used = 0, more = 0;
    if (sscanf(text, "%31s%n", name, &used) != 1)
        return;
    for (int size; ndim < MO_MAX_AXES && sscanf(text + used, "%d%n", &size, &more) == 1; used += more)
        shape[ndim++] = size < 0 ? 0 : size % MOST_SIZE;
    mo_arrays_take(arrays, name, mo_tensor_create(arrays->ctx, MO_F64, ndim, shape));
}

static void count_text(const char *text, void *state) {
    *(size_t *)state += strlen(text);
}

static bool write_tape(mo_context *ctx, char *text, const char *path) {
    mo_arrays *arrays = mo_arrays_create(ctx);
    char *next = strchr(text, '|');
    if (next)
        *next++ = '\0';
    json_t *metadata = json_pack("{s:s, s:s, s:s}", "format", "mochi-tape", "version", "1", "graph", text);
    char *written = metadata ? json_dumps(metadata, JSON_COMPACT) : NULL; /* NULL: no UTF-8 */
    for (char *part = next; part && arrays; part = next) {
        next = strchr(part, '|');
        if (next)
            *next++ = '\0';
        add_tensor(arrays, part);
    }
    bool fine = written && arrays && mo_safetensors_write(arrays, written, path) == MO_OK;
    mo_clear_error(ctx);
    mo_arrays_release(arrays);
    free(written);
    json_decref(metadata);
    return fine;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    fuzz_folder folder;
    char path[160], *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    fuzz_open(&folder, &(const char *){"unused"}, 0, data, 0);
    fuzz_path(&folder, "x.tape", path);
    bool written = write_tape(ctx, text, path), read = written;
    free(text);
    for (mo_print_format format = MO_PRINT_TEXT; format <= MO_PRINT_HTML && read; format++) {
        size_t printed = 0;
        mo_print_options options = {.format = format, .values = 64};
        read = mo_tape_file_print(ctx, path, &options, count_text, &printed) == MO_OK;
    }
    if (!written)
        mo_fail(ctx, MO_FORMAT, "no text of a graph");
    fuzz_finish(ctx, live, read);
    fuzz_remove(&folder);
    return 0;
}
