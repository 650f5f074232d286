/* tests/cli/test_cli_files.c - the files that commands are told to write: none is a file that is read or written
 * besides, each has a form that its suffix says and a folder, and all of that is known before anything is computed. */
#include "tests/cli/program.h"
#include "tests/folder.h"

#include <sys/resource.h>

/* Runs a line whose words are separated by blanks, in the folder of the test. */
static void run_here(program *p, const char *line) {
    char text[1024], out[300], err[300];
    const char *words[MAX_WORDS + 1];
    int n = 0, here = open(".", O_RDONLY | O_DIRECTORY);
    snprintf(text, sizeof text, "%s", line);
    for (char *rest = text, *word; (word = strsep(&rest, " "));)
        words[n++] = word;
    words[n] = NULL;
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    assert_int_equal(chdir(p->folder), 0);
    pid_t child = start_program(words, out, err);
    assert_int_equal(fchdir(here), 0);
    close(here);
    wait_for_program(p, child, out, err);
}

/* Group set-up: a graph of 12 nodes as a folder, as GML and as .npz, labels, rows and what fits of both keep. */
static int files_create(void **state) {
    static const char *const lines[] = {
        "data convert own own.npz",
        "embed --weights none --data own --out Z.npy",
        "fit Z.npy lab.txt --head ridge --save head.safetensors --quiet",
        "predict --data own --labels mine.csv --save kept.safetensors --quiet",
        "graph --out step.tape",
    };
    unsetenv("MOCHI_CACHE");
    if (program_create(state) != 0)
        return -1;
    program *p = *state;
    char edges[1000] = "from,to\n", gml[2000] = "graph [\n", text[200] = "", labels[200] = "node,class\n";
    for (int i = 0; i < 12; i++) {
        sprintf(edges + strlen(edges), "n%d,n%d\nn%d,n%d\n", i, (i + 1) % 12, i, (i + 2 + i % 3) % 12);
        sprintf(gml + strlen(gml), "node [ id %d ]\n", i);
        sprintf(text + strlen(text), "%s\n", i % 2 ? "odd" : "even");
        sprintf(labels + strlen(labels), i < 8 ? "n%d,%s\n" : "", i, i % 2 ? "odd" : "even");
    }
    mkdir(in_folder(p, "own"), 0777);
    write_text(in_folder(p, "own/edges.csv"), edges);
    write_text(in_folder(p, "k.gml"), strcat(gml, "edge [ source 0 target 1 ]\nedge [ source 1 target 2 ]\n]\n"));
    write_text(in_folder(p, "lab.txt"), text);
    write_text(in_folder(p, "mine.csv"), labels);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        run_here(p, lines[i]);
        if (p->code != 0) {
            fprintf(stderr, "%s: %s", lines[i], p->err);
            return -1;
        }
    }
    return symlink("mine.csv", in_folder(p, "soft.csv")) | link(in_folder(p, "mine.csv"), in_folder(p, "hard.csv"));
}

static const fixtures around_all = {files_create, program_release};

typedef struct refused {
    const char *line, *file, *both[2]; /* the file that would be lost; what the message names */
} refused;

TEST(an_output_replaces_no_file_that_is_read) {
    program *p = *state;
    static const refused lines[] = {
        {"suggest --data own --labels mine.csv --n 2 --out mine.csv", "mine.csv", {"--out", "--labels mine.csv"}},
        {"suggest --data own --labels=mine.csv --n 2 --out=mine.csv", "mine.csv", {"--out", "--labels mine.csv"}},
        {"suggest --data own --out ./mine.csv --n 2 --labels mine.csv", "mine.csv", {"./mine.csv", "--labels mine"}},
        {"suggest --data own --labels mine.csv --n 2 --out soft.csv", "mine.csv", {"--out", "--labels mine.csv"}},
        {"suggest --data own --labels soft.csv --n 2 --out mine.csv", "mine.csv", {"--out", "--labels soft.csv"}},
        {"suggest --data own --labels mine.csv --n 2 --out hard.csv", "mine.csv", {"hard.csv", "--labels mine.csv"}},
        {"predict --data own --labels mine.csv --out own/../mine.csv", "mine.csv", {"--out", "--labels mine.csv"}},
        {"predict --data own --labels mine.csv --out own/edges.csv", "own/edges.csv", {"--out", "--data own"}},
        {"predict --data own/ --labels mine.csv --out own/edges.csv", "own/edges.csv", {"--out", "--data own/"}},
        {"predict --data own --task lp --pairs none.csv --out own/edges.csv", "own/edges.csv", {"--out", "--data own"}},
        {"suggest --data own/edges.csv --out own/edges.csv", "own/edges.csv", {"--out", "--data own/edges.csv"}},
        {"predict --data own --out Z.npy --known Z.npy", "Z.npy", {"--out", "--known"}},
        {"predict --data own --labels mine.csv --weights kept.safetensors --save kept.safetensors", "kept.safetensors",
            {"--save", "--weights kept.safetensors"}},
        {"data convert own.npz own.npz", "own.npz", {"OUT", "own.npz"}},
        {"data convert own.npz ./own.npz", "own.npz", {"OUT", "own.npz"}},
        {"embed --weights none --data own --out Z.npy --labels Z.npy", "Z.npy", {"--labels", "--out Z.npy"}},
        {"embed --weights Z.npy --data own --out Z.npy", "Z.npy", {"--out", "--weights Z.npy"}},
        {"fit Z.npy lab.txt --head ridge --predict Z.npy --out Z.npy", "Z.npy", {"--out", "Z.npy"}},
        {"fit own.npz:Z lab.txt --draws own.npz", "own.npz", {"--draws", "own.npz:Z"}},
        {"fit --readout head.safetensors --predict Z.npy --save head.safetensors", "head.safetensors",
            {"--save", "head.safetensors"}},
        {"gin --pool own,k.gml --out kept.safetensors --steps 1 --pool k.gml,kept.safetensors", "kept.safetensors",
            {"--out", "--pool k.gml,kept.safetensors"}},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const refused *r = &lines[i];
        char *before, *after;
        size_t n, m;
        read_file(in_folder(p, r->file), &before, &n);
        run_here(p, r->line);
        read_file(in_folder(p, r->file), &after, &m);
        if (n != m || memcmp(before, after, n) != 0)
            fail_msg("%s: exit code %d, and %s is lost", r->line, p->code, r->file);
        if (p->code != 2 || count_lines(p->err) != 1 || !strstr(p->err, r->both[0]) || !strstr(p->err, r->both[1]))
            fail_msg("%s: exit code %d, '%s'; expected %s and %s", r->line, p->code, p->err, r->both[0], r->both[1]);
        free(before);
        free(after);
    }
}

/* Named by the data folder, where `mochi data get` puts it. */
TEST(nor_a_file_of_a_graph_that_is_named) {
    program *p = *state;
    char *before, *after;
    size_t n, m;
    setenv("MOCHI_DATA", p->folder, 1);
    mkdir(in_folder(p, "gowalla"), 0777);
    write_text(in_folder(p, "gowalla/edges.csv"), "from,to\na,b\nb,c\n");
    mkdir(in_folder(p, "anygraph"), 0777);
    assert_int_equal(rename(in_folder(p, "own.npz"), in_folder(p, "anygraph/Goodreads.npz")), 0);
    static const refused lines[] = {
        {"suggest --data Gowalla --n 1 --out ./gowalla/edges.csv", "gowalla/edges.csv", {"--out", "--data Gowalla"}},
        {"data convert goodreads anygraph/Goodreads.npz", "anygraph/Goodreads.npz", {"OUT", "goodreads"}},
    };
    for (int i = 0; i < 2; i++) {
        read_file(in_folder(p, lines[i].file), &before, &n);
        run_here(p, lines[i].line);
        read_file(in_folder(p, lines[i].file), &after, &m);
        assert_true(n == m && memcmp(before, after, n) == 0);
        assert_ended(p, 2, lines[i].both[0]);
        assert_non_null(strstr(p->err, lines[i].both[1]));
        free(before);
        free(after);
    }
    assert_int_equal(rename(in_folder(p, "anygraph/Goodreads.npz"), in_folder(p, "own.npz")), 0);
    unsetenv("MOCHI_DATA");
}

/* Files that nothing reads are replaced, through a link too, and files beside those that are read. */
TEST(other_files_are_replaced) {
    program *p = *state;
    struct stat st;
    char text[MAX_TEXT];
    for (int again = 0; again < 2; again++) {
        run_here(
            p, "predict --data own --labels mine.csv --out own/predictions.csv --save own/kept.safetensors --quiet");
        assert_ended(p, 0, NULL);
    }
    mkdir(in_folder(p, "work"), 0777);
    write_text(in_folder(p, "work/labels.csv"), "old\n");
    run_here(p, "suggest --data own --n 2 --out work/labels.csv --cache work"); /* a cache is no data */
    assert_ended(p, 0, NULL);
    write_text(in_folder(p, "old.csv"), "old\n");
    assert_int_equal(symlink("old.csv", in_folder(p, "latest.csv")), 0);
    run_here(p, "suggest --data own --n 2 --out latest.csv");
    assert_ended(p, 0, NULL);
    assert_true(lstat(in_folder(p, "latest.csv"), &st) == 0 && S_ISLNK(st.st_mode));
    read_text(in_folder(p, "old.csv"), text);
    assert_memory_equal(text, "node,label\n", 11);
    assert_int_equal(symlink("/no/such/file.csv", in_folder(p, "lost.csv")), 0);
    run_here(p, "suggest --data own --n 2 --out lost.csv");
    assert_ended(p, 1, "lost.csv': cannot follow the symbolic link: No such file");
    run_here(p, "data convert kept.safetensors kept.safetensors"); /* the new file has all that the old one had */
    assert_ended(p, 0, NULL);
    run_here(p, "predict --data own --readout kept.safetensors --quiet");
    assert_ended(p, 0, NULL);
}

TEST(the_suffix_says_the_form) {
    program *p = *state;
    static const char *const lines[][2] = {
        {"predict --data own --labels mine.csv --out p.xlsx", ".csv, .tsv, .jsonl or .npy, found 'p.xlsx'"},
        {"predict --data own --labels mine.csv --out p.parquet", ".jsonl or .npy"},
        {"predict --data own --labels mine.csv --out p", ".jsonl or .npy, found 'p'"},
        {"predict --data own --labels mine.csv --out .csv", ".jsonl or .npy, found '.csv'"},
        {"predict --data own --labels mine.csv --save p.csv --out p.csv", "--save: expected a file .safetensors"},
        {"suggest --data own --out s.jsonl", "--out: expected a file .csv or .tsv, found 's.jsonl'"},
        {"embed --weights none --data own --out z.csv", "--out: expected a file .npy, found 'z.csv'"},
        {"embed --weights none --data own --out z.npy --labels y.csv", "--labels: expected a file .npy"},
        {"fit Z.npy lab.txt --head ridge --predict Z.npy --out lab.txt", "--out: expected a file .csv"},
        {"fit Z.npy lab.txt --head ridge --save head.pt", "--save: expected a file .safetensors"},
        {"data convert k.gml k.gml", "OUT: expected a file .npz or .safetensors, found 'k.gml'"},
        {"graph --out step.dot", "--out: expected a file .tape"},
    };
    int files = folder_files(p->folder, "", NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        run_here(p, lines[i][0]);
        assert_ended(p, 2, lines[i][1]);
        assert_int_equal(folder_files(p->folder, "", NULL), files);
    }
}

/* The data are not there either, which would be found first by a command that looked at its outputs last. */
TEST(a_missing_folder_is_found_before_the_data_are_read) {
    program *p = *state;
    static const char *const lines[] = {
        "predict --data none --labels none.csv --out no/p.csv",
        "predict --data none --labels none.csv --out mine.csv/p.csv",
        "predict --data none --labels none.csv --save no/p.safetensors",
        "predict --data none --task lp --pairs none.csv --out no/p.csv",
        "suggest --data none --out no/p.csv",
        "embed --data none --out no/p.npy",
        "embed --data none --out p.npy --labels no/p.npy",
        "fit none.npy none.npy --head ridge --save no/p.safetensors",
        "data convert none no/p.npz",
        "gin --pool none --out no/p.safetensors",
        "graph --out no/p.tape",
        "eval --weights none --data none --draws no/draws/of",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        run_here(p, lines[i]);
        if (p->code != 1 || count_lines(p->err) != 1 || !strstr(p->err, "cannot open its folder: No"))
            fail_msg("%s: exit code %d, '%s'", lines[i], p->code, p->err);
    }
    mkdir(in_folder(p, "folder.csv"), 0777);
    run_here(p, "suggest --data none --out folder.csv");
    assert_ended(p, 1, "--out: 'folder.csv': expected a file or nothing, found a folder");
}

/* A folder of one's own that is called as a known graph is. */
TEST(a_name_of_two_graphs_is_refused) {
    program *p = *state;
    char known[600];
    static const char *const names[] = {"polbooks", "cora", "Photo", "mutag"};
    snprintf(known, sizeof known, "%s/data", p->folder);
    mkdir(known, 0777);
    mkdir(in_folder(p, "data/classics"), 0777);
    write_text(in_folder(p, "data/classics/polbooks.gml"),
        "graph [\nnode [ id 0 ]\nnode [ id 1 ]\nedge [ source 0 target 1 ]\n]\n");
    setenv("MOCHI_DATA", known, 1);
    for (int i = 0; i < 4; i++) {
        char line[200], file[64];
        mkdir(in_folder(p, names[i]), 0777);
        snprintf(file, sizeof file, i == 3 ? "%s/X_A.txt" : "%s/edges.csv", names[i]);
        write_text(in_folder(p, file), i == 3 ? "1, 2\n2, 1\n" : "from,to\nmine,yours\nyours,ours\n");
        snprintf(line, sizeof line, "suggest --data %s --n 1", names[i]);
        run_here(p, line);
        assert_ended(p, 1, "expected one graph of this name, found two: name the one that lies here ./");
        snprintf(line, sizeof line, "here ./%s, the known one /", names[i]);
        assert_non_null(strstr(p->err, line));
    }
    run_here(p, "suggest --data ./polbooks --n 3");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "mine,"));
    run_here(p, "suggest --data data/classics/polbooks.gml --n 2");
    assert_ended(p, 0, NULL);
    assert_null(strstr(p->out, "mine,"));
    run_here(p, "data info polbooks ./polbooks"); /* goes on after the first */
    assert_ended(p, 1, "found two");
    assert_non_null(strstr(p->out, "polbooks: graph from ./polbooks\n"));
    assert_null(strstr(p->out, "licence"));
    /* What is no graph, or the known one itself, does not matter. */
    unlink(in_folder(p, "Photo/edges.csv"));
    write_text(in_folder(p, "Photo/holidays.jpg"), "");
    unlink(in_folder(p, "cora/edges.csv"));
    write_text(in_folder(p, "cora/run.json"), "{}");
    unlink(in_folder(p, "mutag/X_A.txt"));
    run_here(p, "data info Photo cora mutag");
    assert_ended(p, 0, NULL);
    setenv("MOCHI_DATA", p->folder, 1);
    run_here(p, "data info gowalla");
    assert_ended(p, 0, NULL);
    unsetenv("MOCHI_DATA");
}

TEST(the_manifest_is_of_the_known_graph_alone) {
    program *p = *state;
    setenv("MOCHI_DATA", in_folder(p, "no-data"), 1);
    mkdir(in_folder(p, "cs"), 0777);
    write_text(in_folder(p, "cs/edges.csv"), "from,to\nmine,yours\n");
    run_here(p, "data info cs");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "cs: graph from cs\n"));
    assert_null(strstr(p->out, "licence"));
    assert_null(strstr(p->out, "found"));
    run_here(p, "data info cs --json");
    assert_null(strstr(p->out, "\"manifest\""));
    run_here(p, "data info physics"); /* which is nowhere */
    assert_non_null(strstr(p->out, "licence"));
    unsetenv("MOCHI_DATA");
}

TEST(a_tape_is_told_from_a_graph) {
    program *p = *state;
    run_here(p, "data info step.tape");
    assert_ended(p, 1, "step.tape: expected a graph, an array or weights, found a tape");
}

/* The limit of `ulimit -f`, which sends a signal that ends a program which does not ask otherwise. */
TEST(a_file_beyond_the_limit_is_an_error_as_any) {
    program *p = *state;
    struct rlimit before, small;
    static const char *const lines[][2] = {
        {"embed --weights none --data own --out limited.npy", "limited.npy: cannot write: File too large"},
        {"predict --data own --labels mine.csv --probabilities --save limited.safetensors --quiet",
            "limited.safetensors: cannot write: File too large"},
        {"data info own --json", "standard output: cannot be written"},
        {"train --pool mutag --dim 8 --k 2:3 --q 2:3 --steps 2 --out limited --quiet", "File too large"},
    };
    write_text(in_folder(p, "limited.npy"), "old");
    for (int i = 0; i < 4; i++) {
        getrlimit(RLIMIT_FSIZE, &before);
        small = (struct rlimit){.rlim_cur = 200, .rlim_max = before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small); /* which the program inherits */
        run_here(p, lines[i][0]);
        setrlimit(RLIMIT_FSIZE, &before);
        if (p->code != 1 || !strstr(p->err, lines[i][1]))
            fail_msg("%s: exit code %d, '%s'", lines[i][0], p->code, p->err);
    }
    char text[MAX_TEXT];
    read_text(in_folder(p, "limited.npy"), text);
    assert_string_equal(text, "old");
    assert_int_equal(access(in_folder(p, "limited.safetensors"), F_OK), -1);
}
