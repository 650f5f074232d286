/* tests/tensor/test_file.c - reading a whole file, replacing a file entirely or not at all, and quoting text for
 * messages. */
#include "tensor/files/file.h"
#include "tests/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void assert_content(const char *path, const char *expected) {
    HELD(bytes) b = read_bytes(path);
    assert_int_equal(b.n, strlen(expected));
    assert_memory_equal(b.n ? (const char *)b.data : "", expected, b.n);
}

TEST_OF(replace_creates_and_overwrites, scratch *s) {
    const char *path = scratch_path(s, "a");
    assert_int_equal(mo_file_replace(s->ctx, path, "one", 3), MO_OK);
    assert_content(path, "one");
    assert_int_equal(mo_file_replace(s->ctx, path, "", 0), MO_OK);
    assert_content(path, "");
    assert_int_equal(mo_file_replace(s->ctx, path, "three", 5), MO_OK);
    assert_content(path, "three");
    assert_int_equal(scratch_files(s, true), 1);
}

TEST_OF(replace_works_on_a_bare_name, scratch *s) {
    int here = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(s->folder), 0);
    assert_int_equal(mo_file_replace(s->ctx, "bare", "x", 1), MO_OK);
    assert_int_equal(fchdir(here), 0);
    close(here);
    assert_content(scratch_path(s, "bare"), "x");
    assert_int_equal(scratch_files(s, true), 1);
}

TEST_OF(replace_keeps_the_mode_of_the_old_file, scratch *s) {
    struct stat st;
    const char *path = scratch_write(s, "private", "x", 1);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(mo_file_replace(s->ctx, path, "y", 1), MO_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    mode_t mask = umask(027);
    assert_int_equal(mo_file_replace(s->ctx, scratch_path(s, "new"), "y", 1), MO_OK);
    umask(mask);
    assert_int_equal(stat(s->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    scratch_files(s, true);
}

/* The new content is the caller's, not the owner's who gave the old one these rights. */
TEST_OF(replace_drops_set_user_id_and_keeps_the_owner, scratch *s) {
    struct stat st;
    const char *path = scratch_write(s, "program", "x", 1);
    bool root = geteuid() == 0;
    assert_int_equal(root ? chown(path, 65534, 65533) : 0, 0);
    assert_int_equal(chmod(path, 06755), 0);
    assert_int_equal(mo_file_replace(s->ctx, path, "y", 1), MO_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    if (root) {
        assert_int_equal(st.st_uid, 65534);
        assert_int_equal(st.st_gid, 65533);
    }
    scratch_files(s, true);
}

/* Anyone who can write to the folder can put a link to another user's file there. */
TEST_OF(replace_takes_the_place_of_a_symbolic_link, scratch *s) {
    char link[600], target[600];
    struct stat st;
    snprintf(link, sizeof link, "%s/link", s->folder);
    snprintf(target, sizeof target, "%s", scratch_write(s, "target", "x", 1));
    for (int dangling = 0; dangling < 2; dangling++) {
        assert_int_equal(symlink(dangling ? "/no/such/file" : target, link), 0);
        assert_int_equal(mo_file_replace(s->ctx, link, "yy", 2), MO_OK);
        assert_int_equal(lstat(link, &st), 0);
        assert_true(S_ISREG(st.st_mode) && !(st.st_mode & 0022)); /* not the link's mode, which is 0777 */
        assert_content(link, "yy");
        assert_content(target, "x");
        assert_int_equal(unlink(link), 0);
    }
    assert_int_equal(scratch_files(s, true), 1);
}

TEST_OF(a_file_changed_in_place_has_one_name_and_no_link, scratch *s) {
    char path[600], other[600];
    snprintf(path, sizeof path, "%s/log", s->folder);
    snprintf(other, sizeof other, "%s", scratch_write(s, "other", "x", 1));
    int fd = mo_file_open_own(s->ctx, "log", path, O_WRONLY | O_CREAT);
    assert_true(fd >= 0 && write(fd, "abc", 3) == 3);
    close(fd);
    fd = mo_file_open_own(s->ctx, "log", path, O_WRONLY | O_APPEND);
    assert_true(fd >= 0 && write(fd, "d", 1) == 1);
    close(fd);
    assert_content(path, "abcd");
    static const char *const found[] = {"a symbolic link", "another name too", "a device, pipe", "cannot open"};
    for (int i = 0; i < 4; i++) {
        unlink(path);
        assert_int_equal(i == 0   ? symlink(other, path)
                         : i == 1 ? link(other, path)
                         : i == 2 ? mkfifo(path, 0600)
                                  : mkdir(path, 0700),
            0);
        assert_int_equal(mo_file_open_own(s->ctx, "log", path, O_RDWR | O_CREAT), -1);
        assert_failed(s->ctx, MO_IO, PARTS("log: ", found[i]));
        assert_content(other, "x");
    }
    scratch_files(s, true);
}

TEST_OF(replace_skips_temporary_names_left_by_a_crash, scratch *s) {
    char name[64];
    snprintf(name, sizeof name, ".mochi-%ld-0.tmp", (long)getpid());
    scratch_write(s, name, "left", 4);
    assert_int_equal(mo_file_replace(s->ctx, scratch_path(s, "a"), "one", 3), MO_OK);
    assert_content(scratch_path(s, "a"), "one");
    assert_content(scratch_path(s, name), "left");
    scratch_files(s, true);
}

TEST_OF(a_device_is_never_replaced, scratch *s) {
    struct stat st;
    mo_file_replace(s->ctx, "/dev/full", "x", 1);
    assert_failed(s->ctx, MO_IO, PARTS("/dev/full", "expected a file or nothing", "device"));
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

TEST_OF(bad_places_are_named, scratch *s) {
    char name[400];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    mo_file_replace(s->ctx, s->folder, "x", 1);
    assert_failed(s->ctx, MO_IO, PARTS(s->folder, "expected a file or nothing, found a directory"));
    mo_file_replace(s->ctx, scratch_path(s, "missing/a"), "x", 1);
    assert_failed(s->ctx, MO_IO, PARTS("missing/a", "cannot open its folder", "No such file"));
    mo_file_replace(s->ctx, "", "x", 1);
    assert_failed(s->ctx, MO_IO, PARTS("expected the name of a file"));
    mo_file_replace(s->ctx, name, "x", 1);
    assert_failed(s->ctx, MO_IO, PARTS("nnn", "a name too long"));
    assert_int_equal(scratch_files(s, true), 0);
}

TEST_OF(a_failed_context_writes_nothing, scratch *s) {
    mo_fail(s->ctx, MO_INVALID, "first");
    assert_int_equal(mo_file_replace(s->ctx, scratch_path(s, "a"), "x", 1), MO_INVALID);
    assert_int_equal(scratch_files(s, true), 0);
    assert_failed(s->ctx, MO_INVALID, PARTS("first"));
}

TEST_OF(a_file_is_read_whole, scratch *s) {
    mo_file_bytes content;
    assert_true(mo_file_read(s->ctx, "label", scratch_write(s, "a", "a\0b", 3), &content));
    assert_int_equal(content.n, 3);
    assert_memory_equal(content.data, "a\0b", 3);
    mo_file_bytes_free(s->ctx, &content);
    scratch_files(s, true);
}

/* A file of 1 TiB without content: to read it whole would run out of memory. */
TEST_OF(first_bytes_are_checked_before_the_rest_is_read, scratch *s) {
    static const struct {
        const char *head, *message;
    } cases[] = {{"", "expected"},
        {"\x93NUMPY\x01\x00\x3b\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }",
            "expected 24 bytes of data for shape [3, 2]"},
        {"\x08\x00\x00\x00\x00\x00\x00\x00{}      ", "expected 0 bytes of data, found 1099511627760"}};
    static const size_t bytes[] = {0, 10 + 59, 16};
    for (int i = 0; i < 3; i++) {
        const char *path = scratch_write(s, i == 1 ? "a.npy" : "a", cases[i].head, bytes[i]);
        assert_int_equal(truncate(path, (off_t)1 << 40), 0);
        if (i != 2)
            assert_true(mo_is_null(mo_npy_read(s->ctx, path)));
        else
            assert_null(mo_safetensors_read(s->ctx, path));
        assert_failed(s->ctx, MO_FORMAT, PARTS(cases[i].message));
    }
    assert_null(mo_npz_read(s->ctx, s->path));
    assert_failed(s->ctx, MO_FORMAT, PARTS("expected a zip archive"));
    scratch_write(s, "long", "\x00\x00\x00\x01\x00\x00\x00\x00{}", 10); /* a header of 16 MiB */
    assert_int_equal(truncate(s->path, (off_t)1 << 40), 0);
    assert_null(mo_safetensors_read(s->ctx, s->path));
    assert_failed(s->ctx, MO_FORMAT, PARTS("expected text, found a zero byte"));
    mo_file_bytes content;
    scratch_write(s, "text", "{}", 2);
    assert_int_equal(truncate(s->path, (off_t)1 << 40), 0);
    assert_false(mo_file_read_checked(s->ctx, "label", s->path, mo_file_check_text, &content));
    assert_failed(s->ctx, MO_FORMAT, PARTS("label: expected text, found a zero byte"));
    scratch_files(s, true);
}

TEST_OF(what_is_no_file_is_not_read, scratch *s) {
    mo_file_bytes content;
    assert_false(mo_file_read(s->ctx, "label", scratch_path(s, "missing"), &content));
    assert_failed(s->ctx, MO_IO, PARTS("label: cannot open: No such file"));
    assert_false(mo_file_read(s->ctx, "label", s->folder, &content));
    assert_failed(s->ctx, MO_IO, PARTS("label: expected a file, found a directory"));
    assert_int_equal(mkfifo(scratch_path(s, "pipe"), 0600), 0);
    assert_false(mo_file_read(s->ctx, "label", s->path, &content));
    assert_failed(s->ctx, MO_IO, PARTS("label: expected a file, found a device, pipe or socket"));
    assert_false(mo_file_read(s->ctx, "label", scratch_write(s, "empty", "", 0), &content));
    assert_failed(s->ctx, MO_FORMAT, PARTS("label: the file is empty"));
    scratch_files(s, true);
}
