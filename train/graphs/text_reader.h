/* train/graphs/text_reader.h - the lines of a plain or gzipped text file, for the tables of table_reader.h (library
 * internal). */
#ifndef MO_TEXT_READER_H
#define MO_TEXT_READER_H

#include <zlib.h>

#include "tensor/inside.h"

typedef struct mo_text_reader {
    mo_context *ctx;
    const char *path; /* borrowed */
    gzFile file;
    bool pipe;
    int64_t file_bytes, unfolded; /* size of the file; unpacked bytes read so far */
    char *buffer;
    size_t capacity, start, end; /* unread bytes are start .. end - 1 */
    bool exhausted;
    char *text;    /* the current line, NUL-terminated, without its line end */
    size_t length; /* its bytes */
    int64_t line;  /* its number, from 1 */
} mo_text_reader;

/* Finds a file of a folder, plain or with .gz behind its name; false if there is neither. */
bool mo_text_find(const char *folder, const char *name, char *path, size_t bytes);
/* Opens a file. False on failure; close it even then. */
bool mo_text_open(mo_text_reader *r, mo_context *ctx, const char *path);
/* Opens a file, a pipe or "-", standard input (r->path then says so). Reading raises after 64 MiB of a pipe or of
 * standard input. */
bool mo_text_open_pipe(mo_text_reader *r, mo_context *ctx, const char *path);
void mo_text_close(mo_text_reader *r);
/* Moves to the next line; skips a UTF-8 byte order mark on the first. False at the end of the file and on failure:
 * mo_ok tells which. */
bool mo_text_line(mo_text_reader *r);

#endif
