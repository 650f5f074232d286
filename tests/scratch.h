/* tests/scratch.h - a folder of files for one test program, removed when it ends, and the check of an error's text. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include "autograd/autograd.h"
#include "tensor/objects.h"
#include "tests/folder.h"
#include "tests/held.h"

#include <sys/stat.h>
#include <unistd.h>

enum { SCRATCH_PATHS = 64 };

typedef struct scratch {
    mo_context *ctx;
    int64_t live; /* bytes that a new context holds */
    char folder[256];
    const char *path; /* the path that scratch_path returned last */
    char paths[SCRATCH_PATHS][512];
    int n_paths;
} scratch;

/* A buffer of n bytes that grows. */
typedef struct bytes {
    unsigned char *data;
    size_t n;
} bytes;

static inline void bytes_append(bytes *b, const void *data, size_t n) {
    b->data = realloc(b->data, b->n + n + 1);
    assert_non_null(b->data);
    if (n)
        memcpy(b->data + b->n, data, n);
    b->n += n;
}

static inline void bytes_append_number(bytes *b, uint64_t value, int width) {
    for (int i = 0; i < width; i++)
        bytes_append(b, &(unsigned char){(unsigned char)(value >> (8 * i))}, 1);
}

static inline void bytes_release(bytes *b) {
    free(b->data);
    *b = (bytes){0};
}

static inline void held_bytes(bytes *b) {
    bytes_release(b);
}

static inline void expect_ok(mo_context *ctx) {
    if (!mo_ok(ctx))
        fail_msg("%s", mo_context_status(ctx)->message);
}

static inline void expect_pass(mo_check_result r) {
    if (!r.pass)
        fail_msg("%s", r.worst);
}

/* Fails unless two tensors have equal bits. */
static inline void assert_equal_bits(const mo_tensor *X, const mo_tensor *Y) {
    size_t bytes = (size_t)mo_numel(X) * mo_dtype_size(mo_tensor_dtype(X));
    void *x = test_memory(bytes), *y = test_memory(bytes);
    assert_int_equal(mo_numel(X), mo_numel(Y));
    assert_int_equal(mo_tensor_read(X, x, bytes), MO_OK);
    assert_int_equal(mo_tensor_read(Y, y, bytes), MO_OK);
    assert_memory_equal(x, y, bytes);
}

/* Fails unless two models have parameters of equal names and bits. */
static inline void assert_same_parameters(const mo_model *a, const mo_model *b) {
    assert_int_equal(mo_model_n_parameters(a), mo_model_n_parameters(b));
    for (int i = 0; i < mo_model_n_parameters(a); i++) {
        const mo_tensor *P = mo_model_parameter(a, i), *Q = mo_model_parameter(b, i);
        assert_string_equal(mo_tensor_name(P), mo_tensor_name(Q));
        assert_equal_bits(P, Q);
    }
}

/* The lines that a mo_notice has received. */
typedef struct notices {
    char text[4096];
} notices;

static inline void remember(const char *line, void *state) {
    notices *t = state;
    strncat(t->text, line, sizeof t->text - strlen(t->text) - 2);
    strcat(t->text, "\n");
}

/* Set-up and tear-down of a test: *state is a context. */
static inline int context_open(void **state) {
    *state = mo_context_create(NULL);
    return *state && mo_ok(*state) ? 0 : -1;
}

static inline int context_close(void **state) {
    return mo_context_release(*state) == MO_OK ? 0 : -1;
}

FIXTURES_OF(mo_context, false, context_open, context_close)

/* Set-up of a group: *state becomes a scratch. */
static inline int scratch_create(void **state) {
    scratch *s = calloc(1, sizeof *s);
    const char *parent = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%s/mochi-test-XXXXXX", parent ? parent : "/tmp");
    s->ctx = mo_context_create(&(mo_context_options){.device = MO_CPU, .threads = 1});
    s->live = s->ctx ? mo_context_counters(s->ctx).bytes_live : 0;
    *state = s;
    return s->ctx && mo_ok(s->ctx) && mkdtemp(s->folder) ? 0 : -1;
}

/* Returns the number of entries of the folder; `removed` removes them. */
static inline int scratch_files(scratch *s, bool removed) {
    int count = folder_files(s->folder, "", NULL);
    if (removed)
        folder_clear(s->folder);
    return count;
}

/* Group tear-down; fails if the tests left an error in the context, or memory except the backend's own. */
static inline int scratch_release(void **state) {
    scratch *s = *state;
    s->ctx->backend->close(s->ctx);
    int64_t live = mo_context_counters(s->ctx).bytes_live;
    bool clean = mo_ok(s->ctx) && (live == 0 || a_test_was_skipped());
    if (!clean)
        print_error("%lld bytes were not released; %s\n", (long long)live, mo_context_status(s->ctx)->message);
    folder_remove(s->folder);
    mo_context_release(s->ctx);
    free(s);
    return clean ? 0 : -1;
}

FIXTURES_OF(scratch, true, scratch_create, scratch_release)

/* Returns the path of a name in the folder, which stays as it is until the scratch is released. */
static inline const char *scratch_path(scratch *s, const char *name) {
    char path[512];
    int i = 0;
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    while (i < s->n_paths && strcmp(s->paths[i], path) != 0)
        i++;
    assert_in_range(i, 0, SCRATCH_PATHS - 1);
    if (i == s->n_paths)
        memcpy(s->paths[s->n_paths++], path, sizeof path);
    return s->path = s->paths[i];
}

/* Returns the path of a folder in the folder; what an earlier use of the name left there is removed. */
static inline const char *scratch_folder(scratch *s, const char *name) {
    folder_remove(scratch_path(s, name));
    return s->path;
}

static inline void write_bytes(const char *path, const void *data, size_t n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* Writes a file into the folder and returns its path. */
static inline const char *scratch_write(scratch *s, const char *name, const void *data, size_t n) {
    write_bytes(scratch_path(s, name), data, n);
    return s->path;
}

/* Returns the bytes of a file; empty if it cannot be opened. */
static inline bytes read_bytes(const char *path) {
    bytes b = {0};
    char buffer[65536];
    FILE *file = fopen(path, "rb");
    for (size_t n; file && (n = fread(buffer, 1, sizeof buffer, file)) > 0;)
        bytes_append(&b, buffer, n);
    if (file)
        fclose(file);
    return b;
}

/* Asserts that the context failed with this code, and one line that contains all given texts (NULL ends them); clears
 * the error. */
static inline void assert_failed(mo_context *ctx, mo_code code, const char *const *parts) {
    mo_status status = *mo_context_status(ctx);
    mo_clear_error(ctx);
    if (status.code != code)
        fail_msg("expected the code %s, found %s: %s", mo_code_name(code), mo_code_name(status.code), status.message);
    if (!status.message[0] || strchr(status.message, '\n'))
        fail_msg("expected one line, found '%s'", status.message);
    for (; *parts; parts++)
        if (!strstr(status.message, *parts))
            fail_msg("expected '%s' in: %s", *parts, status.message);
}

/* Asserts that the context failed with this code and message; clears the error. */
static inline void assert_told(mo_context *ctx, mo_code code, const char *message) {
    mo_status status = *mo_context_status(ctx);
    mo_clear_error(ctx);
    assert_string_equal(status.message, message);
    assert_int_equal(status.code, code);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
