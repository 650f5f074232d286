/* tests/fuzz/fuzz_driver.c - runs a fuzz target without libFuzzer: on files, on their prefixes (all of them, or
 * about PREFIXES), and on seeded mutations.
 *
 *     fuzz_npy MUTATIONS[:PREFIXES] FILE|FOLDER ...
 *
 * Every input lies in a block of its own size, so that a sanitizer detects each access beyond it. A run repeats
 * exactly. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

enum { SEED = 7, ROOM = 1 << 16 };

static int64_t runs, seeds; /* runs: number of inputs; seeds: number of unchanged files that the target accepted */

static void run(const unsigned char *bytes, size_t n) {
    unsigned char *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    memcpy(copy, bytes, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
    runs++;
}

/* Changes one place of a buffer, which has n of at most ROOM bytes; returns the new number of bytes. */
static size_t mutate(mo_random *r, unsigned char *bytes, size_t n) {
    static const unsigned char edges[] = {0, 1, 0x7F, 0x80, 0xFF, '0', '9', '-', '\'', '"', ',', '(', '{', '\\', '\n'};
    size_t at = (size_t)mo_random_below(r, (int64_t)n), left = n - at;
    size_t length = 1 + (size_t)mo_random_below(r, left < 16 ? (int64_t)left : 16);
    switch (mo_random_below(r, 5)) {
    case 0:
        bytes[at] ^= (unsigned char)(1 << mo_random_below(r, 8));
        return n;
    case 1:
        memset(bytes + at, edges[mo_random_below(r, sizeof edges)], length);
        return n;
    case 2: /* cut out */
        memmove(bytes + at, bytes + at + length, left - length);
        return n - length;
    case 3: /* repeat */
        if (n + length > ROOM)
            return n;
        memmove(bytes + at + length, bytes + at, left);
        return n + length;
    default: /* copies bytes from another place */
        memmove(bytes + mo_random_below(r, (int64_t)(n - length) + 1), bytes + at, length);
        return n;
    }
}

static void run_file(const char *path, int64_t mutations, size_t prefixes) {
    static unsigned char whole[ROOM], bytes[ROOM];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(whole, 1, sizeof whole, file) : 0;
    if (!file || size == ROOM) {
        fprintf(stderr, "%s: expected a file below %d bytes\n", path, ROOM);
        exit(2);
    }
    fclose(file);
    for (size_t n = 0; n < size; n += 1 + size / (prefixes ? prefixes : size))
        run(whole, n);
    fuzz_accepted = 0;
    run(whole, size);
    seeds += fuzz_accepted > 0;
    for (int64_t i = 0; i < mutations && size; i++) {
        mo_random r = mo_random_at(SEED, MO_PURPOSE_CHECK, (uint64_t)i);
        size_t n = size;
        memcpy(bytes, whole, size);
        for (int64_t changes = 1 + mo_random_below(&r, 4); changes > 0 && n; changes--)
            n = mutate(&r, bytes, n);
        run(bytes, n);
    }
}

int main(int argc, char **argv) {
    const char *colon = argc > 1 ? strchr(argv[1], ':') : NULL;
    size_t prefixes = colon ? (size_t)atoll(colon + 1) : 0;
    for (int i = 2; i < argc; i++) {
        struct dirent **entries;
        int count = scandir(argv[i], &entries, NULL, alphasort);
        if (count < 0)
            run_file(argv[i], atoll(argv[1]), prefixes);
        for (int k = 0; k < count; k++) {
            char path[4096];
            struct stat st;
            snprintf(path, sizeof path, "%s/%s", argv[i], entries[k]->d_name);
            if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
                run_file(path, atoll(argv[1]), prefixes);
            free(entries[k]);
        }
        if (count >= 0)
            free(entries);
    }
    printf("%lld inputs, %lld of the files are read\n", (long long)runs, (long long)seeds);
    return runs && seeds ? 0 : 2; /* if no seed is accepted, the target never gets beyond its first check */
}
