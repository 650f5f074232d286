/* ops/rules/checks.c - checks the values of a call; an error that a device finds later still names the op and its
 * inputs. */
#include "ops/rules/checks.h"

#include "autograd/tape.h"
#include "tensor/files/number_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void describe(const void *caller, mo_note *note) {
    const mo_call *c = caller;
    note->op = c->op->name;
    mo_call_inputs(c, note->inputs, sizeof note->inputs);
}

bool mo_call_check(const mo_call *c, mo_check check, const mo_tensor *subject) {
    check.ndim = subject->ndim;
    memcpy(check.shape, subject->shape, sizeof check.shape);
    check.describe = describe;
    check.caller = c;
    return mo_check_values(c->ctx, &check);
}

void mo_note_fail(mo_context *ctx, const mo_note *note, mo_code code, const char *format, ...) {
    char reason[512];
    va_list args;
    va_start(args, format);
    mo_format_list(reason, sizeof reason, format, args);
    va_end(args);
    mo_fail(ctx, code, "%s: %s; got %s", note->op, reason, note->inputs);
}

const char *mo_note_matrix(const mo_note *note, int64_t matrix, char *text, size_t bytes) {
    int64_t batch = 1;
    for (int i = 0; i < note->check.ndim - 2; i++)
        batch *= note->check.shape[i];
    if (note->check.ndim > 2)
        snprintf(text, bytes, "matrix %" PRId64 " of %" PRId64, matrix, batch);
    else
        snprintf(text, bytes, "the matrix");
    return text;
}
