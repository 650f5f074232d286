/* tests/folder.h - the files of a folder. */
#ifndef FOLDER_H
#define FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns the number of entries whose names end with `ending` ("": all). path, unless NULL, receives the path of the
 * last one. */
static inline int folder_files(const char *folder, const char *ending, char path[1024]) {
    int count = 0;
    DIR *listing = opendir(folder);
    for (struct dirent *e; listing && (e = readdir(listing));) {
        size_t n = strlen(e->d_name), k = strlen(ending);
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || n < k || strcmp(e->d_name + n - k, ending) != 0)
            continue;
        count++;
        if (path)
            snprintf(path, 1024, "%s/%s", folder, e->d_name);
    }
    if (listing)
        closedir(listing);
    return count;
}

static inline void folder_remove(const char *folder);

/* Removes all that the folder has. */
static inline void folder_clear(const char *folder) {
    DIR *listing = opendir(folder);
    char path[1024];
    for (struct dirent *e; listing && (e = readdir(listing));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path && unlink(path))
            folder_remove(path);
    }
    if (listing)
        closedir(listing);
}

static inline void folder_remove(const char *folder) {
    folder_clear(folder);
    rmdir(folder);
}

#endif
