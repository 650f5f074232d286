/* tools/data/data_stage.h - a folder beside the data in which a data set is put together before it appears in its
 * place. */
#ifndef DATA_STAGE_H
#define DATA_STAGE_H

#include "tools/data/manifest.h"

/* Makes FOLDER (with those above it) and an empty folder in it. False raises. */
bool stage_open(mo_context *ctx, const char *folder, char stage[PATH_MAX]);
/* The path of a file of the stage, whose folders are made. False raises. */
bool stage_path(mo_context *ctx, const char *stage, const char *path, char full[PATH_MAX]);
/* Brings a file that is outside into the stage: another name for it where that can be, else a copy. False raises. */
bool stage_add(mo_context *ctx, const char *stage, const char *path, const char *source);
/* Moves every file of the entry that is staged below the folder. False raises. */
bool stage_publish(mo_context *ctx, const char *stage, const char *folder, const manifest_entry *e);
/* Removes the stage and what is in it. */
void stage_close(const char *stage);
/* Makes the folders above a path. False raises. */
bool make_folders_above(mo_context *ctx, const char *path);

#endif
