/* train/features/stack_file.h - hop stacks that exceed the memory of a run, in mapped files (library internal). */
#ifndef MO_STACK_FILE_H
#define MO_STACK_FILE_H

#include "train/features/cache.h"

/* A hop stack in a file. The caller sets cache, key and shape with ndim; mo_stack_open the rest. */
typedef struct mo_stack_file {
    mo_cache cache;
    const char *key; /* everything that the values depend on */
    int64_t shape[MO_MAX_AXES];
    int ndim;
    double quality[2]; /* residual and orthogonality of the SVDs, stored with the rows */
    bool whole;        /* the file is complete: nothing to compute */
    mo_tensor *rows;
    int fd; /* descriptor of the file; until `whole`, of the partial file, locked */
    char *path, *partial;
} mo_stack_file;

#define MO_STACK_ENDING ".npy" /* ending of the file's name; while it is written, MO_STACK_ENDING ".partial" */
enum { MO_STACK_PAGE = 4096 /* bytes before the data */ };

/* Opens the float32 rows of that key: read-only if they exist; else writable, and other processes that open them wait.
 * Borrowed until mo_stack_close, which must be called even on failure; returns the null tensor on failure. */
mo_tensor *mo_stack_open(mo_stack_file *s);
/* Finishes a file that was filled, with the quality, or removes it after a failure. Returns the rows, read-only, owned;
 * the null tensor on failure. */
mo_tensor *mo_stack_close(mo_stack_file *s);

#endif
