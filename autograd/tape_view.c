/* autograd/tape_view.c - a tape made visible: printed, as files, and read back. */
#include "autograd/picture.h"
#include "tensor/given.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 64 }; /* elements that are shown */

/* Sets in every value what printing looks up: "node" of an output, "number" of a leaf, which their names are made from;
 * "elements" and "gradient", the places of their arrays. */
static bool index_values(const mo_picture *p) {
    static const char *const keys[] = {"node", "number", "elements", "gradient"};
    int64_t n = (int64_t)json_array_size(p->values), leaves = 0;
    bool ok = true;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++)
            json_object_del(mo_value_of(p, i), keys[k]);
    for (int64_t i = 0; i < (int64_t)json_array_size(p->nodes); i++)
        for (size_t k = 0; k < mo_n_listed(mo_node_of(p, i), "out"); k++)
            ok &= json_object_set_new(mo_value_of(p, mo_listed(mo_node_of(p, i), "out", k)), "node", json_integer(i)) ==
                  0;
    for (int64_t i = 0; i < n; i++)
        if (!json_object_get(mo_value_of(p, i), "node"))
            ok &= json_object_set_new(mo_value_of(p, i), "number", json_integer(leaves++)) == 0;
    for (int64_t i = 0; i < p->arrays->count; i++) {
        const char *name = p->arrays->items[i].name;
        json_t *value = mo_value_of(p, strtoll(name + 1, NULL, 10));
        ok &= json_object_set_new(value, name[0] == 'v' ? "elements" : "gradient", json_integer(i)) == 0;
    }
    if (!ok)
        mo_fail(p->ctx, MO_MEMORY, "print: out of memory");
    return ok;
}

static void print_picture(const mo_picture *p, const mo_print_options *options, mo_write write, void *state) {
    mo_printer printer = {.picture = p, .options = options, .write = write, .state = state};
    printer.between_rows = options->format == MO_PRINT_HTML ? ",\n" : ", ";
    if (!index_values(p))
        return;
    if (options->format == MO_PRINT_DOT)
        mo_print_dot(&printer);
    else if (options->format == MO_PRINT_HTML)
        mo_print_page(&printer);
    else
        mo_print_text(&printer);
}

static const mo_print_options plain = {.format = MO_PRINT_TEXT};

/* A graph is most useful after an error, so an error is set aside meanwhile. Returns the status of the work itself. */
static mo_code with_error_back(mo_context *ctx, const mo_status *before) {
    mo_code code = ctx->status.code;
    if (before->code != MO_OK)
        ctx->status = *before;
    return code;
}

mo_code mo_tape_print(const mo_tape *t, const mo_print_options *options, mo_write write, void *state) {
    mo_context *ctx = mo_context_of_tape(t);
    if (!t || !write) {
        mo_fail(ctx, MO_INVALID, "tape_print: no %s to write with", t ? "function" : "tape");
        return mo_code_of(ctx);
    }
    if (!mo_tape_lives(t, "tape_print"))
        return mo_code_of(ctx);
    mo_status before = ctx->status;
    mo_clear_error(ctx);
    mo_picture picture;
    options = options ? options : &plain;
    if (mo_picture_take(&picture, t, options))
        print_picture(&picture, options, write, state);
    mo_picture_release(&picture);
    return with_error_back(ctx, &before);
}

/* ---- files ---- */

static void append_text(const char *text, void *writer) {
    mo_file_append(writer, text, strlen(text));
}

static void write_picture(const mo_picture *p, const mo_print_options *options, const char *path) {
    if (options->format == MO_PRINT_TAPE) {
        mo_picture_write(p, path);
        return;
    }
    mo_file_writer *writer = mo_file_start(p->ctx, path);
    if (writer) {
        print_picture(p, options, append_text, writer);
        mo_file_finish(writer);
    }
}

mo_code mo_tape_write(mo_tape *t, const mo_print_options *options, const char *path) {
    mo_context *ctx = mo_context_of_tape(t);
    if (!mo_tape_lives(t, "tape_write") || !mo_given(ctx, "tape_write", "the path", path))
        return mo_code_of(ctx);
    mo_status before = ctx->status;
    mo_clear_error(ctx);
    mo_picture picture;
    options = options ? options : &plain;
    if (mo_picture_take(&picture, t, options) &&
        (options->no_gradients || mo_picture_add_gradients(&picture, t, options)))
        write_picture(&picture, options, path);
    mo_picture_release(&picture);
    return with_error_back(ctx, &before);
}

mo_code mo_tape_dot(mo_tape *t, const char *path) {
    return mo_tape_write(t, &(mo_print_options){.format = MO_PRINT_DOT, .values = FEW}, path);
}

mo_code mo_tape_html(mo_tape *t, const char *path) {
    return mo_tape_write(t, &(mo_print_options){.format = MO_PRINT_HTML, .values = FEW}, path);
}

mo_code mo_tape_file_print(
    mo_context *ctx, const char *path, const mo_print_options *options, mo_write write, void *state) {
    if (!mo_ok(ctx) || !mo_given(ctx, "tape_file_print", "the path", path) ||
        !mo_given(ctx, "tape_file_print", "the function", (const void *)(uintptr_t)write))
        return mo_code_of(ctx);
    mo_picture picture;
    if (mo_picture_read(ctx, &picture, path))
        print_picture(&picture, options ? options : &plain, write, state);
    mo_picture_release(&picture);
    return mo_code_of(ctx);
}
