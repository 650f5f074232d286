/* tests/web/native.c - the page's requests answered by the program's own build: a request a line of standard input, its
 * lines joined by tabs; an answer a line of standard output. */
#include "tools/web/page.h"

#include <stdlib.h>
#include <string.h>

int main(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, stdin)) > 0) {
        line[n - 1] = '\0';
        for (char *at = line; (at = strchr(at, '\t'));)
            *at = '\n';
        memcpy(page_request((int)n), line, (size_t)n);
        puts(page_answer());
    }
    free(line);
    return 0;
}
