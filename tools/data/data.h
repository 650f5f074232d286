/* tools/data/data.h - the actions of `mochi data`, and what its options say. */
#ifndef DATA_H
#define DATA_H

#include "tools/given.h"

typedef struct data_options {
    int action;
    given_options given;
    names words; /* the action and what it acts on */
    bool json;
    bool all;             /* list */
    const char *manifest; /* NULL: the one that comes with the program */
    bool offline;         /* get */
    bool accept;          /* get: take what the manifest has no SHA-256 of */
    const char *sha256;   /* get: of the one download that the manifest has none of */
    int64_t timeout;      /* get: seconds without a byte */
    int64_t limit;        /* get: bytes of a download, and of what is unpacked */
} data_options;

/* Each works on o->words after the action and returns the exit code. */
int data_list(mo_context *ctx, const data_options *o);
int data_info(mo_context *ctx, const data_options *o);
int data_get(mo_context *ctx, const data_options *o);
int data_verify(mo_context *ctx, const data_options *o);
int data_convert(mo_context *ctx, const data_options *o);

/* The data folder, false raises. */
bool open_data_folder(mo_context *ctx, char *folder, size_t bytes);

#endif
