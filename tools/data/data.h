/* tools/data/data.h - the actions of `mochi data`, and its options. */
#ifndef DATA_H
#define DATA_H

#include "tools/options.h"

typedef struct data_options {
    names words; /* what the action acts on */
    bool json;
    bool all; /* list */
} data_options;

/* Each acts on o->words and returns the exit code. */
int data_list(mo_context *ctx, const data_options *o);
int data_info(mo_context *ctx, const data_options *o);
int data_verify(mo_context *ctx, const data_options *o);
int data_convert(mo_context *ctx, const data_options *o);

/* Finds the data folder. Returns false after raising. */
bool open_data_folder(mo_context *ctx, char *folder, size_t bytes);

#endif
