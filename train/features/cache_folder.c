/* train/features/cache_folder.c - the entries of a cache: listed, verified, removed.
 *
 * An entry is a file whose name is 32 hexadecimal digits and .safetensors, or .npy (hop_store.c). Removed are those
 * that say what they were made of; of the other files in the folder only those of interrupted writes are touched. */
#include "train/features/hop_store.h"

#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/files/safetensors.h"
#include "tensor/storage.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DIGITS = 32, STALE = 3600, LONGEST_HEADER = 1 << 16 };

typedef struct file {
    char *path;
    int64_t bytes, used;
    long nanoseconds; /* beyond used */
} file;

typedef struct listing {
    file *files;
    size_t n;
} listing;

static void free_listing(listing *l) {
    for (size_t i = 0; i < l->n; i++)
        free(l->files[i].path);
    free(l->files);
}

/* What follows the digits of an entry's name; "" where it has none. */
static const char *behind_digits(const char *name) {
    for (int i = 0; i < DIGITS; i++)
        if (!isdigit((unsigned char)name[i]) && !(name[i] >= 'a' && name[i] <= 'f'))
            return "";
    return name + DIGITS;
}

static bool is_entry(const char *name) {
    const char *ending = behind_digits(name);
    return !strcmp(ending, ".safetensors") || !strcmp(ending, MO_HOP_ENDING);
}

static bool is_left_over_entry(const char *name) {
    return mo_is_temporary(name) || !strcmp(behind_digits(name), MO_HOP_ENDING ".partial");
}

static int by_use(const void *a, const void *b) {
    const file *x = a, *y = b;
    if (x->used != y->used)
        return x->used < y->used ? -1 : 1;
    if (x->nanoseconds != y->nanoseconds)
        return x->nanoseconds < y->nanoseconds ? -1 : 1;
    return strcmp(x->path, y->path);
}

static bool append_listed(mo_context *ctx, listing *l, const char *folder, const char *name) {
    struct stat st;
    char *path;
    file *grown = realloc(l->files, (l->n + 1) * sizeof *grown);
    if (grown)
        l->files = grown;
    if (!grown || asprintf(&path, "%s/%s", folder, name) < 0) {
        mo_fail(ctx, MO_MEMORY, "cache: out of memory for its entries");
        return false;
    }
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) /* otherwise it has been removed meanwhile */
        l->files[l->n++] = (file){path, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
    else
        free(path);
    return true;
}

/* The files that `wanted` accepts, the least recently used first. */
static listing list_files(mo_context *ctx, const char *folder, bool (*wanted)(const char *name)) {
    listing l = {0};
    DIR *dir = mo_ok(ctx) ? opendir(folder) : NULL;
    if (!dir && mo_ok(ctx) && errno != ENOENT)
        mo_fail(ctx, MO_IO, "cache: '%s': cannot open: %s", folder, strerror(errno));
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (wanted(e->d_name) && !append_listed(ctx, &l, folder, e->d_name))
            break;
    if (dir)
        closedir(dir);
    if (l.n > 1)
        qsort(l.files, l.n, sizeof *l.files, by_use);
    return l;
}

/* The metadata's "made_of", read from the header alone; NULL if there is none. Free with free(). */
static char *read_made_of(const char *path) {
    unsigned char size[8];
    FILE *in = fopen(path, "rb");
    uint64_t n = 0;
    char *text = NULL, *found = NULL;
    if (in && fread(size, 1, 8, in) == 8)
        for (int i = 7; i >= 0; i--)
            n = n << 8 | size[i];
    if (n > 0 && n <= LONGEST_HEADER && (text = malloc(n)) && fread(text, 1, n, in) == n) {
        json_t *root = mo_json_decode(text, n, 0, NULL);
        const char *value = json_string_value(json_object_get(json_object_get(root, "__metadata__"), "made_of"));
        found = value ? strdup(value) : NULL;
        json_decref(root);
    }
    free(text);
    if (in)
        fclose(in);
    return found;
}

/* Whether the entry at a path has the name of what it was made of. */
static bool is_named_by(const char *path, const char *made_of) {
    char name[MO_CACHE_NAME];
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, mo_cache_name(made_of, name), DIGITS) == 0;
}

/* Raises unless an entry of arrays is undamaged and says what it was made of. */
static void verify_arrays(mo_context *ctx, const char *path, const char *made_of) {
    mo_arrays *arrays = mo_safetensors_read(ctx, path);
    if (arrays && mo_require_digests(ctx, path, arrays->metadata) && !mo_cache_made_of(arrays->metadata, made_of))
        mo_fail(ctx, MO_FORMAT, "%s: does not say what it was made of", path);
    mo_arrays_release(arrays);
}

static bool is_stack(const file *f) {
    return mo_path_ends_with(f->path, MO_HOP_ENDING);
}

/* What an entry was made of, NULL if it does not say; free with free(). check, *intact: of a hop stack
 * (mo_hop_file_inspect). */
static char *made_of_entry(mo_context *ctx, const file *f, bool check, bool *intact) {
    *intact = true;
    return is_stack(f) ? mo_hop_file_inspect(ctx, f->path, check, intact) : read_made_of(f->path);
}

static void show_entry(mo_context *ctx, const file *f, bool verify, mo_cache_visitor visit, void *state) {
    char damage[1024] = "";
    bool intact;
    char *made_of = made_of_entry(ctx, f, verify, &intact);
    const char *key = made_of ? made_of : "";
    if (verify && !is_stack(f))
        verify_arrays(ctx, f->path, key);
    else if (!intact)
        mo_fail(ctx, MO_FORMAT, "%s: checksums do not hold", f->path);
    if (verify && mo_ok(ctx) && !is_named_by(f->path, key))
        mo_fail(ctx, MO_FORMAT, "%s: made of something else than what its name stands for", f->path);
    if (!mo_ok(ctx))
        snprintf(damage, sizeof damage, "%s", mo_context_status(ctx)->message);
    mo_clear_error(ctx);
    mo_cache_entry entry = {
        .path = f->path, .made_of = key, .damage = *damage ? damage : NULL, .bytes = f->bytes, .used = f->used};
    if (visit)
        visit(&entry, state);
    free(made_of);
}

static mo_code visit_entries(mo_context *ctx, const char *folder, bool verify, mo_cache_visitor visit, void *state) {
    if (!mo_given(ctx, "cache", "the folder", folder))
        return mo_code_of(ctx);
    listing l = list_files(ctx, folder, is_entry);
    for (size_t i = 0; i < l.n && mo_ok(ctx); i++)
        show_entry(ctx, &l.files[i], verify, visit, state);
    free_listing(&l);
    return mo_context_status(ctx)->code;
}

mo_code mo_cache_visit(mo_context *ctx, const char *folder, mo_cache_visitor visit, void *state) {
    return visit_entries(ctx, folder, false, visit, state);
}

mo_code mo_cache_verify(mo_context *ctx, const char *folder, mo_cache_visitor visit, void *state) {
    return visit_entries(ctx, folder, true, visit, state);
}

/* Moves the entries that say what they were made of to the front, in their order, and returns their number: a file of
 * another program may have such a name. */
static size_t move_ours_first(mo_context *ctx, listing *l) {
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        bool intact;
        file f = l->files[i];
        char *made_of = made_of_entry(ctx, &f, false, &intact);
        if (made_of) {
            l->files[i] = l->files[n];
            l->files[n++] = f;
        }
        free(made_of);
    }
    return n;
}

static void remove_file(mo_context *ctx, const file *f) {
    if (unlink(f->path) < 0 && errno != ENOENT)
        mo_fail(ctx, MO_IO, "cache: '%s': cannot remove: %s", f->path, strerror(errno));
}

/* Removes what an interrupted write has left, unless a process writes it still: that of a hop stack holds its lock,
 * and may leave the file untouched for hours while it computes an SVD. */
static void remove_left_over(mo_context *ctx, const file *f) {
    int fd = open(f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        remove_file(ctx, f);
    if (fd >= 0)
        close(fd);
}

mo_code mo_cache_prune(
    mo_context *ctx, const char *folder, int64_t seconds, int64_t bytes, mo_cache_visitor visit, void *state) {
    if (!mo_given(ctx, "cache", "the folder", folder))
        return mo_code_of(ctx);
    int64_t now = time(NULL), total = 0;
    listing left = list_files(ctx, folder, is_left_over_entry);
    for (size_t i = 0; i < left.n && mo_ok(ctx); i++)
        if (now - left.files[i].used > STALE)
            remove_left_over(ctx, &left.files[i]);
    free_listing(&left);
    listing l = list_files(ctx, folder, is_entry);
    size_t ours = move_ours_first(ctx, &l);
    for (size_t i = 0; i < ours; i++)
        total += l.files[i].bytes;
    for (size_t i = 0; i < ours && mo_ok(ctx); i++) {
        bool old = seconds >= 0 && now - l.files[i].used >= seconds, large = bytes >= 0 && total > bytes;
        if (!old && !large)
            continue;
        total -= l.files[i].bytes;
        show_entry(ctx, &l.files[i], false, visit, state);
        remove_file(ctx, &l.files[i]);
    }
    free_listing(&l);
    return mo_context_status(ctx)->code;
}
