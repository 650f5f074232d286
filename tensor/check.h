/* tensor/check.h - conditions on values that only the device knows (library internal).
 *
 * The CPU checks at once. A device that works ahead of the host notes the condition, goes on, and raises the error of
 * the first condition that failed when values are next read; the note holds what the op knew. */
#ifndef MO_CHECK_H
#define MO_CHECK_H

#include "tensor/inside.h"

typedef enum mo_condition {
    MO_VALUES_ZERO,    /* int32 words are 0 */
    MO_VALUES_INDEX,   /* int64 values lie in 0 .. limit-1 */
    MO_VALUES_OFFSETS, /* int64 values start at 0, never fall, end at limit */
    MO_VALUES_DIVISOR, /* float64 values are finite and not 0 */
    MO_VALUES_FINITE,  /* float64 values are finite */
    MO_VALUES_ABOVE    /* float64 values are larger than those of `bounds` */
} mo_condition;

/* A value that breaks a condition. */
typedef union mo_found {
    int64_t integer;
    double real;
} mo_found;

struct mo_note;

typedef struct mo_check {
    mo_condition condition;
    mo_view values, bounds; /* contiguous */
    int64_t limit;
    const char *what; /* the caller's word for the values; lives as long as the library */
    int ndim;         /* number of axes of the tensor to whose positions error messages refer */
    int64_t shape[MO_MAX_AXES];
    /* The first position that breaks the condition, its value and the value before it. */
    void (*raise)(mo_context *ctx, const struct mo_note *note, int64_t position, mo_found found, mo_found before);
    /* Fills the note's own fields from the caller's data; called if the condition is broken, or at once if it is
     * checked later. */
    void (*describe)(const void *caller, struct mo_note *note);
    const void *caller;
} mo_check;

/* A check in the form that a device keeps. */
typedef struct mo_note {
    mo_check check;
    int64_t ahead;    /* replays of a capture since it was made; 0 elsewhere */
    const char *op;   /* lives as long as the library */
    char inputs[400]; /* "[8, 6, 6] float32, ..." */
} mo_note;

/* Raises if the condition does not hold, now or when values are next read. Returns whether the context is free of
 * errors so far. */
bool mo_check_values(mo_context *ctx, const mo_check *check);
/* Writes the note of a check at its current state. */
void mo_note_take(const mo_check *check, mo_note *note);

#endif
