/* train/features/stack_file.h - hop stacks that are larger than the memory a run may use: kept in a file, mapped
 * (library internal). */
#ifndef MO_STACK_FILE_H
#define MO_STACK_FILE_H

#include "train/features/cache.h"

/* What is asked for, then what is there; the caller sets the first three. */
typedef struct mo_stack_file {
    mo_cache cache;
    const char *key; /* everything that the values depend on */
    int64_t shape[MO_MAX_AXES];
    int ndim;
    double quality[2]; /* residual and orthogonality of the SVDs, kept with the rows */
    bool whole;        /* the rows were there: nothing is to be computed */
    mo_tensor *rows;
    int fd; /* of the file, the partial one until it is whole; its lock is held then */
    char *path, *partial;
} mo_stack_file;

#define MO_STACK_ENDING ".npy" /* of the file's name; while it is written, MO_STACK_ENDING ".partial" */
enum { MO_STACK_PAGE = 4096 /* bytes before the data */ };

/* Opens the rows, float32, of that key: read-only where they are whole; else to be filled, and other processes that
 * open them wait. Borrowed until mo_stack_close, which is called in any case; the null tensor on failure. */
mo_tensor *mo_stack_open(mo_stack_file *s);
/* Completes a file that was filled, with the quality, or removes it after a failure. Returns the rows, read-only,
 * owned; the null tensor on failure. */
mo_tensor *mo_stack_close(mo_stack_file *s);

#endif
