/* tools/cli/input.c - files that the program reads as text. */
#include "tools/cli/input.h"

#include "tools/cli/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FILE *open_input(const char *path) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    FILE *file = fd >= 0 && fcntl(fd, F_SETFL, O_RDONLY) == 0 ? fdopen(fd, "r") : NULL; /* clears O_NONBLOCK, so that
                                                                                         * reads wait for data */
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

enum { MOST_TEXT = 1 << 30 };

char *read_text_file(const char *path, size_t *bytes) {
    FILE *file = open_input(path);
    char *text = NULL;
    size_t room = 0;
    int error;
    *bytes = 0;
    if (!file)
        return NULL;
    do {
        if (room - *bytes < 2)
            text = needed(realloc(text, room = room ? 2 * room : 1 << 16));
        *bytes += fread(text + *bytes, 1, room - *bytes - 1, file);
    } while (!feof(file) && !ferror(file) && *bytes <= MOST_TEXT);
    error = ferror(file) ? errno : *bytes > MOST_TEXT ? EFBIG : 0;
    fclose(file);
    text[*bytes] = '\0';
    if (error)
        free(text);
    errno = error;
    return error ? NULL : text;
}

json_t *read_json_file(const char *path, size_t flags, json_error_t *error) {
    FILE *file = open_input(path);
    if (!file) {
        *error = (json_error_t){.line = -1};
        snprintf(error->text, sizeof error->text, "unable to open %.100s: %s", path, strerror(errno));
        return NULL;
    }
    json_t *value = json_loadf(file, flags, error);
    fclose(file);
    return value;
}
