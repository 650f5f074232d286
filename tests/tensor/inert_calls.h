/* tests/tensor/inert_calls.h - calls of every exported function with results of failed constructors, written by
 * tests/tensor/make_inert_calls.py; and the arguments of these calls. */
#ifndef INERT_CALLS_H
#define INERT_CALLS_H

#include "tools/inside.h"

#include <stdlib.h>

enum { GIVEN_TENSORS = 64 };

/* The arguments of a call: NULL, 0 and failed objects; or a working tape with them; or tensors, and all else NULL,
 * negative or of no enum. */
typedef struct given {
    mo_context *context;
    mo_tape *tape;
    mo_tensor *tensor;
    mo_tensor **tensors, **outputs; /* [GIVEN_TENSORS], or NULL */
    void *buffer;                   /* for options, arrays and results; zeroed, or NULL */
    const char *text;
    int number;       /* number of items, axes, classes .. */
    int bytes;        /* of a buffer or a text */
    int word;         /* of an enum */
    mo_code failed;   /* the context's error before the call; MO_OK: none */
    const char *gave; /* what the call returned although it should have failed; NULL: nothing */
} given;

typedef struct inert_call {
    const char *name;
    void (*call)(given *g);
} inert_call;

extern const inert_call inert_calls[];
extern const int n_inert_calls;

/* Check a result. If the context failed, or there is none, a tensor must be null, an object NULL and a code not
 * MO_OK. */
void take_tensor(given *g, mo_tensor *T);
void take_object(given *g, const void *object);
void take_code(given *g, mo_code code);

#endif
