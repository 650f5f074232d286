/* tensor/check.h - conditions on values that only the device knows (library internal).
 *
 * The CPU checks at once. A device that works ahead of the host queues the check and goes on; when values are next
 * read, it raises the error of the first condition that failed, from the note that the op left (mo_note). */
#ifndef MO_CHECK_H
#define MO_CHECK_H

#include "tensor/inside.h"

typedef enum mo_condition {
    MO_VALUES_ZERO,    /* int32 words are 0 */
    MO_VALUES_INDEX,   /* int64 values lie in 0 .. limit-1 */
    MO_VALUES_OFFSETS, /* int64 values start at 0, never fall, end at limit */
    MO_VALUES_DIVISOR, /* float64 values are finite and not 0 */
    MO_VALUES_FINITE,  /* float64 values are finite */
    MO_VALUES_ABOVE    /* each float64 value is larger than its value in `bounds` */
} mo_condition;

/* A value that breaks a condition: integer for int32 and int64 values, else real. */
typedef union mo_found {
    int64_t integer;
    double real;
} mo_found;

struct mo_note;

typedef struct mo_check {
    mo_condition condition;
    mo_view values, bounds; /* contiguous */
    int64_t limit;
    const char *what; /* the caller's word for the values in messages; lives as long as the library */
    int ndim;         /* number of axes of the tensor to whose positions error messages refer */
    int64_t shape[MO_MAX_AXES];
    /* Raises the error. position: the first one whose value breaks the condition; found: this value; before: the value
     * before it. */
    void (*raise)(mo_context *ctx, const struct mo_note *note, int64_t position, mo_found found, mo_found before);
    /* NULL, or fills note->op and note->inputs from `caller`. Called if the condition is broken, or at once by a device
     * that checks later. */
    void (*describe)(const void *caller, struct mo_note *note);
    const void *caller;
} mo_check;

/* A check in the form that a device keeps. */
typedef struct mo_note {
    mo_check check;
    int64_t ahead;    /* steps from the captured step to the replayed step that broke the condition; 0 without replay */
    const char *op;   /* lives as long as the library */
    char inputs[400]; /* "[8, 6, 6] float32, ..." */
} mo_note;

/* Raises, now or when values are next read, if the condition does not hold. Returns whether the context is free of
 * errors so far. */
bool mo_check_values(mo_context *ctx, const mo_check *check);

#endif
