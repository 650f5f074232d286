/* tensor/files/file.h - whole files in and out, and shared objects (library internal). */
#ifndef MO_FILE_H
#define MO_FILE_H

#include "tensor/files/foreign_text.h"
#include "tensor/library.h"

#include <sys/types.h>

/* Room for "npz: path: member 'name'", the start of every message about an array file. */
#define MO_LABEL 512

/* The content of a file, from mo_host_alloc. */
typedef struct mo_file_bytes {
    unsigned char *data;
    size_t n;
} mo_file_bytes;

/* Reads a regular file whole. Returns false on failure; label starts the message. */
bool mo_file_read(mo_context *ctx, const char *label, const char *path, mo_file_bytes *content);
/* Returns whether a file of n bytes can be what the reader expects, by its first bytes, head; raises if not. head has
 * all n bytes, or MO_FILE_HEAD of them. */
enum { MO_FILE_HEAD = 1 << 16 };
typedef bool (*mo_file_check)(
    mo_context *ctx, const char *label, const unsigned char *head, size_t head_bytes, size_t n);
/* As mo_file_read, but asks `check` before there is memory for the whole file. */
bool mo_file_read_checked(
    mo_context *ctx, const char *label, const char *path, mo_file_check check, mo_file_bytes *content);
/* A mo_file_check for text: refuses a zero byte. */
bool mo_file_check_text(mo_context *ctx, const char *label, const unsigned char *head, size_t head_bytes, size_t n);
void mo_file_bytes_free(mo_context *ctx, mo_file_bytes *content);
/* Reads n bytes from `offset` on. Returns the number of bytes read, less than n at the end of the file, or -1 with
 * errno. Needs no context, so any thread may call it. */
ssize_t mo_read_at(int fd, void *bytes, size_t n, int64_t offset);
/* Opens a regular file to change it in place. The path must not be a symbolic link, and the file must have no other
 * name, so that no file elsewhere is changed. Returns -1 on failure; label starts the message. */
int mo_file_open_own(mo_context *ctx, const char *label, const char *path, int flags);
/* Gives the file that is being written (mo_file_start) its full size on the disk, so that a write to a mapped page
 * cannot run out of it. Returns its descriptor, to map it and read it, the writer's; -1 on failure. mo_file_append
 * still starts at its first byte. */
int mo_file_reserve(mo_file_writer *w, int64_t bytes);
/* Writes n bytes to an open file. Returns the number of bytes written; less than n after a failure, with errno. */
size_t mo_write_all(int fd, const void *bytes, size_t n);
/* fsync, repeated if a signal interrupts it. */
int mo_file_sync(int fd);

/* Whether a file that an interrupted replacement left behind can have this name: .mochi-...tmp. */
bool mo_is_temporary(const char *name);

/* The first fields of a struct that a user's shared object exports: the version and the struct size that the object was
 * built for. */
typedef struct mo_plugin {
    int abi;
    size_t size;
} mo_plugin;
/* Opens a shared object and returns its struct named `symbol`, which must have the expected version and size; NULL on
 * failure. label, the purpose of the object, starts the message. *object: for dlclose, if the caller refuses the
 * struct. */
const void *mo_plugin_open(
    mo_context *ctx, const char *label, const char *symbol, mo_plugin expected, const char *path, void **object);
/* The largest size in bytes to which a compressed file may expand: 64 MiB plus mo_context_options.max_expand times the
 * file's size. deflate packs zeros a thousand times, so that a file of 2 MB can claim 2 GB. Genuine text and arrays
 * pack 3 to 25 times. */
int64_t mo_expansion_limit(const mo_context *ctx, int64_t file_bytes);
/* Raises MO_FORMAT; the message names the limit and says how to raise it. label starts the message. */
void mo_expansion_fail(mo_context *ctx, const char *label, int64_t file_bytes);
/* Whether `bytes` bytes of a file can claim n things that they do not list (rows without columns, columns without
 * entries), each of which takes `each` bytes of memory: all of them may take the memory to which a compressed file of
 * that size may expand. Raises MO_FORMAT if not; label starts the message, `what` names the things. */
bool mo_claim_fits(mo_context *ctx, const char *label, const char *what, int64_t n, int64_t each, int64_t bytes);

/* Writes "kind: path" to label, which has MO_LABEL bytes. Returns label. */
const char *mo_file_label(const char *kind, const char *path, char *label);

#endif
