/* tools/data/manifest.h - what is known of every data set: where it comes from, under which licence, what a loader must
 * find. Read from train/data/manifest.json, which train/data/README.md describes. */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "tools/command.h"

#include <limits.h>

/* Hexadecimal digits of a SHA-256, and the end. */
enum { SHA256_TEXT = 65 };

/* A file below the data folder. Texts belong to the manifest; NULL where it says nothing. */
typedef struct manifest_file {
    const char *path;
    const char *url;    /* of the file itself, or of the archive that has it */
    const char *member; /* its name there */
    const char *sha256; /* of the file as it comes from the address */
    const char *copy;   /* of a copy of equal content, whose bytes are not those at the address */
    int64_t bytes;      /* -1: not stated */
} manifest_file;

/* What a loader must find; -1: not stated. */
enum { COUNT_GRAPHS, COUNT_NODES, COUNT_EDGES, COUNT_FEATURES, COUNT_CLASSES, COUNTS };
extern const char *const count_names[COUNTS];

typedef struct manifest_entry {
    const char *name, *licence, *page, *note;
    const char *path;         /* what a loader opens, below the data folder; NULL: there is no loader */
    const json_t *paper;      /* texts: its uses in the paper */
    const json_t *cite;       /* texts */
    const char *converter[3]; /* form, input and output of tools/data/convert.py, or NULL */
    int64_t counts[COUNTS];
    int n_files;
    manifest_file *files;
} manifest_entry;

typedef struct manifest {
    json_t *root;
    int count;
    manifest_entry *entries;
} manifest;

/* Reads a manifest, NULL: the one that comes with the program. NULL on failure, which names the place in the file. */
manifest *manifest_read(mo_context *ctx, const char *path);
void manifest_release(manifest *m);
/* The entry of that name, in any case; NULL where there is none, which manifest_find raises. */
const manifest_entry *manifest_look(const manifest *m, const char *name);
const manifest_entry *manifest_find(mo_context *ctx, const manifest *m, const char *name);
/* Whether a path stays below the folder that it starts in: relative, no "..", no empty part. */
bool is_safe_path(const char *path);
/* The counts that a loader found. */
void find_counts(const mo_graph *graph, int64_t found[COUNTS]);
/* Raises unless the graph has what the manifest says. */
bool check_counts(const manifest_entry *entry, const mo_graph *graph);

/* ---- data_files.c ---- */

typedef enum file_state { FILE_OK, FILE_UNVERIFIED, FILE_DIFFERS, FILE_ABSENT } file_state;

/* Where a file of the manifest lies in a folder, perhaps gzipped; false where it does not. */
bool find_data_file(const char *folder, const char *path, char found[PATH_MAX]);
/* The SHA-256 of a file; of a text that was sought as `path` and found as path.gz, that of the text. False raises.
 */
bool hash_file(mo_context *ctx, const char *found, bool unpacked, char digits[SHA256_TEXT]);
/* How a file compares with the manifest; digits (of what lies there) may be NULL. FILE_ABSENT with the context's error
 * set where it cannot be read. */
file_state check_file(
    mo_context *ctx, const char *folder, const manifest_file *file, char found[PATH_MAX], char digits[SHA256_TEXT]);

#endif
