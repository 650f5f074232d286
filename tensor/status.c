/* tensor/status.c - the sticky status of a context: the first error wins and stays until it is cleared. */
#include "tensor/files/number_text.h"
#include "tensor/library.h"
#include "tensor/objects.h"

#include <stdio.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#else
#include <fenv.h>
#endif

/* Appends the line of the caller's program to the message, whose end is cut if it is too long. */
static void append_place(mo_context *ctx) {
    if (!ctx->file)
        return;
    char place[256], *message = ctx->status.message;
    int n = snprintf(place, sizeof place, "; last call on a tape: %.200s:%d", ctx->file, ctx->line);
    size_t used = strlen(message), room = sizeof ctx->status.message - 1 - (size_t)n;
    memcpy(message + (used < room ? used : room), place, (size_t)n + 1);
}

static void tell(mo_context *ctx) {
    if (ctx->status.code == MO_OK || ctx->tries || ctx->handler_called)
        return;
    ctx->handler_called = true;
    if (ctx->on_error)
        ctx->on_error(&ctx->status, ctx->on_error_state);
}

void mo_hold_errors(mo_context *ctx) {
    if (ctx)
        ctx->tries++;
}

void mo_release_errors(mo_context *ctx) {
    if (!ctx)
        return;
    ctx->tries--;
    tell(ctx);
}

bool mo_fail_at(mo_context *ctx, mo_code code, const char *file, int line, const char *format, ...) {
    if (!ctx || ctx->status.code != MO_OK)
        return false;
    ctx->status.code = code;
    ctx->status.file = file;
    ctx->status.line = line;
    va_list args;
    va_start(args, format);
    mo_format_list(ctx->status.message, sizeof ctx->status.message, format, args);
    va_end(args);
    append_place(ctx);
    for (char *at = ctx->status.message; *at; at++) /* control characters in a file's name must not break the line */
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            *at = '?';
    tell(ctx);
    return false;
}

bool mo_ok(const mo_context *ctx) {
    return ctx && ctx->status.code == MO_OK;
}

const mo_status *mo_context_status(const mo_context *ctx) {
    static const mo_status none = {.code = MO_INVALID,
        .file = __FILE__,
        .line = __LINE__,
        .message = "there is no context: mo_context_create was out of memory, or it was never called"};
    return ctx ? &ctx->status : &none;
}

mo_code mo_code_of(const mo_context *ctx) {
    return mo_context_status(ctx)->code;
}

bool mo_given(mo_context *ctx, const char *function, const char *argument, const void *value) {
    if (!value)
        mo_fail(ctx, MO_INVALID, "%s: %s is NULL", function, argument);
    return mo_ok(ctx) && value;
}

void mo_clear_error(mo_context *ctx) {
    if (!ctx)
        return;
    ctx->stopped = false;
    ctx->status = (mo_status){0};
    ctx->handler_called = false;
}

bool mo_clear_if(mo_context *ctx, mo_code code) {
    if (mo_context_status(ctx)->code == code)
        mo_clear_error(ctx);
    return mo_ok(ctx);
}

const char *mo_code_name(mo_code code) {
    static const char *const names[] = {
        "ok", "invalid", "mismatch", "numerical", "format", "io", "memory", "unsupported", "state"};
    return (unsigned)code < sizeof names / sizeof *names ? names[code] : "unknown";
}

/* Returns a text that names the unusual setting, or NULL. The settings live in a register of each thread, which
 * fesetround, or code compiled with -ffast-math, may have changed. */
static const char *unusual_arithmetic(void) {
#if defined(__SSE2__)
    static const unsigned rounding = 0x6000, flush = 0x8040; /* bits of MXCSR: rounding mode; FTZ and DAZ */
    unsigned control = _mm_getcsr();
    return !(control & (rounding | flush)) ? NULL
           : control & rounding            ? "does not round to nearest"
                                           : "flushes subnormal numbers to zero";
#else
    return fegetround() == FE_TONEAREST ? NULL : "does not round to nearest";
#endif
}

bool mo_usual_arithmetic(mo_context *ctx, const char *function) {
    const char *found = unusual_arithmetic();
    if (!found)
        return true;
    mo_fail(ctx, MO_STATE,
        "%s: the calling thread %s, with which results would have other bits: call "
        "fesetenv(FE_DFL_ENV) before it",
        function, found);
    return false;
}
