/* tools/data/data_stage.h - a folder beside the data in which a data set is put together before its files are renamed
 * into place. */
#ifndef DATA_STAGE_H
#define DATA_STAGE_H

#include "tools/data/manifest.h"

/* Makes FOLDER, the folders above it, and an empty folder in it. Returns false after raising. */
bool stage_open(mo_context *ctx, const char *folder, char stage[PATH_MAX]);
/* The path of a file of the stage; makes its folders. Returns false after raising. */
bool stage_path(mo_context *ctx, const char *stage, const char *path, char full[PATH_MAX]);
/* Brings a file into the stage, by a hard link if possible, else by a copy. Returns false after raising. */
bool stage_add(mo_context *ctx, const char *stage, const char *path, const char *source);
/* Moves every staged file of the entry to its place below the folder. Returns false after raising. */
bool stage_publish(mo_context *ctx, const char *stage, const char *folder, const manifest_entry *e);
/* Removes the stage and its files. */
void stage_close(const char *stage);
/* Makes the folders above a path. Returns false after raising. */
bool make_folders_above(mo_context *ctx, const char *path);

#endif
