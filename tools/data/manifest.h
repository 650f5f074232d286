/* tools/data/manifest.h - the known data sets: address, licence, and the counts that a loader must find. Read from
 * train/data/manifest.json, which train/data/README.md describes. */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "tools/command.h"

#include <limits.h>

/* Hexadecimal digits of a SHA-256, and the final 0. */
enum { SHA256_TEXT = 65 };

/* A file below the data folder. Texts belong to the manifest; NULL if it has none. */
typedef struct manifest_file {
    const char *path;
    const char *url;    /* address of the file, or of the archive that has it */
    const char *member; /* its name in the archive */
    const char *sha256; /* SHA-256 of the file as downloaded */
    const char *copy;   /* SHA-256 of a copy with equal content and other bytes */
    int64_t bytes;      /* -1: not stated */
} manifest_file;

/* The counts that a loader must find; -1: not stated. */
enum { COUNT_GRAPHS, COUNT_NODES, COUNT_EDGES, COUNT_FEATURES, COUNT_CLASSES, COUNTS };
extern const char *const count_names[COUNTS];

typedef struct manifest_entry {
    const char *name, *licence, *page, *note;
    const char *path;         /* the path that a loader opens, below the data folder; NULL: there is no loader */
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

/* Reads a manifest (path NULL: the program's own). Returns NULL on failure; the error names the place in the file. */
manifest *manifest_read(mo_context *ctx, const char *path);
void manifest_release(manifest *m);
/* The entry of this name, in upper or lower case; NULL if there is none. manifest_find raises then. */
const manifest_entry *manifest_look(const manifest *m, const char *name);
const manifest_entry *manifest_find(mo_context *ctx, const manifest *m, const char *name);
/* Whether a path stays below its starting folder: relative, no "..", no empty part. */
bool is_safe_path(const char *path);
/* The counts that a loader found; features without the node attributes of a TU set, as names are read. */
void find_counts(const mo_graph *graph, int64_t found[COUNTS]);
/* Raises unless the graph has the manifest's counts. */
bool check_counts(const manifest_entry *entry, const mo_graph *graph);

/* ---- data_files.c ---- */

typedef enum file_state { FILE_OK, FILE_UNVERIFIED, FILE_DIFFERS, FILE_ABSENT } file_state;

/* Finds a file of the manifest in a folder, perhaps gzipped; returns false if it is not there. */
bool find_data_file(const char *folder, const char *path, char found[PATH_MAX]);
/* The SHA-256 of a file; if `unpacked`, of the text in a gzipped file. Returns false after raising. */
bool hash_file(mo_context *ctx, const char *found, bool unpacked, char digits[SHA256_TEXT]);
/* Compares a file with the manifest; digits receives its SHA-256, or is NULL. FILE_ABSENT with the context's error set
 * if it cannot be read. */
file_state check_file(
    mo_context *ctx, const char *folder, const manifest_file *file, char found[PATH_MAX], char digits[SHA256_TEXT]);

#endif
