/* exercise.h - the exercises of a lesson, and how the checker grades them. */
#ifndef EXERCISE_H
#define EXERCISE_H

#include <mochi/mochi.h>

enum { MOST_INPUTS = 4, MOST_ELEMENTS = 64 };

/* A float64 input: standard normal numbers, or log-normal ones if positive. */
typedef struct exercise_input {
    int ndim;
    int64_t shape[MO_MAX_AXES];
    bool positive;
} exercise_input;

typedef struct exercise {
    const char *name;
    int n_in;
    exercise_input in[MOST_INPUTS];
    mo_tensor *(*answer)(mo_tape *t, mo_tensor *const *in); /* graph code that you write in exercises.c */
    const char *shape;                                      /* the result's shape, "[3, 1]" */
    void (*expected)(const double *const *in, double *out); /* writes the right values, computed by plain loops */
    const char *hint;
} exercise;

extern const exercise exercises[];
extern const int n_exercises;

#endif
