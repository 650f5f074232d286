/* autograd/registry.c - what a context keeps for its tapes: above all its ops by name, as checker, profiler and printer
 * list them. */
#include "autograd/sample.h"
#include "autograd/tape.h"

#include <stdlib.h>
#include <string.h>

static void free_engine(mo_engine *engine) {
    mo_tape_free_remains(engine->remains);
    free(engine->ops);
    free(engine->profile);
    free(engine);
}

mo_engine *mo_engine_of(mo_context *ctx) {
    if (ctx->engine)
        return ctx->engine;
    ctx->engine = calloc(1, sizeof *ctx->engine);
    ctx->free_engine = free_engine;
    if (!ctx->engine)
        mo_fail(ctx, MO_MEMORY, "engine: out of memory");
    return ctx->engine;
}

/* ---- the registry ---- */

bool mo_check_op_form(mo_context *ctx, const char *what, const mo_op *op) {
    if (!op->name || !op->forward)
        mo_fail(ctx, MO_INVALID, "%s: op %s lacks a name or a forward", what, op->name ? op->name : "?");
    else if (op->attributes_size > MO_MAX_ATTRIBUTES)
        mo_fail(ctx, MO_INVALID, "%s: the options of op %s are %zu bytes, expected at most %d", what, op->name,
            op->attributes_size, MO_MAX_ATTRIBUTES);
    else if (mo_op_least_inputs(op) < 0 || mo_op_most_inputs(op) > MO_MAX_INPUTS || op->n_out < 0 ||
             op->n_out > MO_MAX_OUTPUTS)
        mo_fail(ctx, MO_INVALID, "%s: op %s has %d inputs and %d outputs, expected at most %d and 1 to %d", what,
            op->name, mo_op_most_inputs(op), op->n_out, MO_MAX_INPUTS, MO_MAX_OUTPUTS);
    return mo_ok(ctx);
}

mo_code mo_register_op(mo_context *ctx, const mo_op *op) {
    if (!mo_ok(ctx))
        return mo_code_of(ctx);
    if (!op)
        mo_fail(ctx, MO_INVALID, "register: the op is NULL");
    else if (!mo_check_op_form(ctx, "register", op))
        return mo_code_of(ctx);
    else if (!op->samples || mo_n_samples(op) < 1)
        mo_fail(ctx, MO_INVALID, "register: op %s has no samples, so that nothing could check it", op->name);
    else if (mo_find_op(ctx, op->name))
        mo_fail(ctx, MO_INVALID, "register: there is an op named %s already", op->name);
    mo_engine *engine = mo_ok(ctx) ? mo_engine_of(ctx) : NULL;
    if (!engine)
        return ctx->status.code;
    if (engine->n_ops == engine->capacity_ops) {
        int capacity = engine->capacity_ops ? 2 * engine->capacity_ops : 64;
        const mo_op **grown = realloc(engine->ops, (size_t)capacity * sizeof *grown);
        if (!grown) {
            mo_fail(ctx, MO_MEMORY, "register: out of memory for %d ops", capacity);
            return ctx->status.code;
        }
        engine->ops = grown;
        engine->capacity_ops = capacity;
    }
    engine->ops[engine->n_ops++] = op;
    return MO_OK;
}

int mo_n_ops(const mo_context *ctx) {
    return ctx && ctx->engine ? ctx->engine->n_ops : 0;
}

const mo_op *mo_op_at(const mo_context *ctx, int i) {
    return i >= 0 && i < mo_n_ops(ctx) ? ctx->engine->ops[i] : NULL;
}

const mo_op *mo_find_op(const mo_context *ctx, const char *name) {
    for (int i = 0; name && i < mo_n_ops(ctx); i++)
        if (!strcmp(ctx->engine->ops[i]->name, name))
            return ctx->engine->ops[i];
    return NULL;
}
