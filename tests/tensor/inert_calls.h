/* tests/tensor/inert_calls.h - calls of every exported function with what a failed constructor returned, as
 * tests/tensor/make_inert_calls.py writes them, and what the calls are given. */
#ifndef INERT_CALLS_H
#define INERT_CALLS_H

#include "train/inside.h"

enum { GIVEN_TENSORS = 64 };

/* What one call is given: NULL, 0 and objects that failed, or that and a working tape. */
typedef struct given {
    mo_context *context;
    mo_tape *tape;
    mo_tensor *tensor;
    mo_tensor **tensors, **outputs; /* [GIVEN_TENSORS], or NULL */
    void *buffer;                   /* for options, arrays and results; zeroed, or NULL */
    const char *text;
    int number;       /* of items, axes, classes .. */
    mo_code failed;   /* the context's error before the call; MO_OK: none */
    const char *gave; /* what the call returned where nothing was expected; NULL: nothing */
} given;

typedef struct inert_call {
    const char *name;
    void (*call)(given *g);
} inert_call;

extern const inert_call inert_calls[];
extern const int n_inert_calls;

/* Results: of a context in the error state (or none) a tensor is null, an object NULL and a code is not MO_OK. */
void take_tensor(given *g, mo_tensor *T);
void take_object(given *g, const void *object);
void take_code(given *g, mo_code code);

#endif
