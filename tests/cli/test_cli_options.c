/* tests/cli/test_cli_options.c - every option of every command, as --help lists them: a command line in which the
 * option has an effect, compared with the same line without it, and command lines in which it has none, which are
 * refused in one line. The test fails if the tables lack an option of --help. */
#include "program.h"

static const fixtures around_all = {program_create, program_release};

enum { MOST_WORDS = 31, MOST_REFUSED = 3 };

/* Sanitizers look at what each line does; that an option has its effect, a build without them says. */
#ifdef __SANITIZE_ADDRESS__
enum { COMPARED = 0 };
#else
enum { COMPARED = 1 };
#endif

/* The effect of an option on a command line. */
typedef enum effect {
    CHANGES,   /* standard output: the line without the option prints the same twice, with it something else */
    SAYS,      /* standard output holds the part, which it does not without the option */
    LACKS,     /* standard output holds the part only without the option */
    SILENCES,  /* nothing is left of standard output */
    HUSHES,    /* nothing is left of standard error */
    FILE_OF,   /* the file # with that ending is another one, or there at all */
    FOLDER_OF, /* the files of the folder # with that ending are of another size together */
    FAILS,     /* exit code 1, with a line that holds the part */
    PASSES,    /* exit code 0, and not without it */
    COSTS,     /* time or memory alone: standard output, or the file # with that ending, is the same */
    DEFAULTS,  /* names the default: standard output is the same */
    NEEDS_GPU, /* refused without one, which is all that can be looked at here */
    ELSEWHERE, /* the test of that name gives it, as more than a command line is needed */
} effect;

/* One option. Words are separated by blanks; @ is the folder of the test, # a path in it that no run has used. */
typedef struct option_row {
    const char *command, *option;
    effect effect;
    const char *line, *given, *part; /* without the option; the option with its value; see above */
    const char *refused[MOST_REFUSED];
} option_row;

/* Fast lines that the options of train and eval are added to. */
#define RUN_OF "train --pool mutag --dim 8 --k 2:4 --q 2:5 --steps 2 --out #"
#define PAPER RUN_OF " --quiet --recipe paper"
#define BEST RUN_OF " --quiet"
#define NONE "eval --weights none --hop 1 --dim 8 --shots 4 --seeds 2 --quiet"
#define MUTAG NONE " --data mutag"
#define CORA NONE " --data cora"
#define EPISODES                                                                                                       \
    "eval --weights none --hop 1 --dim 8 --shots 4 --quiet --data mutag --task gc --protocol episode --episodes 3"
#define EMBED "embed --weights none --data mutag --out #.npy"
#define FIT "fit @/Z.npy @/y.npy --head ridge --shots 4 --episodes 3 --json"
#define USED "fit @/Z.npy @/y.npy --head ridge"
#define SUGGEST "suggest --data mutag --n 3"
#define PREDICT "predict --data mutag --labels @/seeds.csv --quiet"
#define LAB "lab adjoint --problem ridge --iterations 5 --runs 1 --json"

static const option_row rows[] = {
    /* train */
    {"train", "pool", FILE_OF, PAPER, "--pool enzymes", "/run.json", {NULL}},
    {"train", "link-share", FILE_OF, PAPER " --pool cora:lp", "--link-share 0.3", "/run.json",
        {PAPER " --link-share 0.3", PAPER " --pool cora:lp@0.1 --link-share 0.3"}},
    {"train", "max-classes", FILE_OF, PAPER, "--max-classes 2", "/run.json", {NULL}},
    {"train", "k", FILE_OF, PAPER, "--k 3", "/run.json", {NULL}},
    {"train", "q", FILE_OF, PAPER, "--q 3", "/run.json", {NULL}},
    {"train", "recipe", FILE_OF, BEST, "--recipe released", "/run.json", {NULL}},
    {"train", "layers", FILE_OF, PAPER, "--layers 2", "/run.json", {BEST " --layers 2"}},
    {"train", "dim", FILE_OF, PAPER, "--dim 9", "/run.json", {NULL}},
    {"train", "head", FILE_OF, PAPER, "--head svm", "/run.json", {NULL}},
    {"train", "encoder", FILE_OF, PAPER, "--encoder $/encoder_good.so", "/run.json", {NULL}},
    {"train", "lambda", FILE_OF, PAPER, "--lambda 3", "/run.json",
        {BEST " --lambda 3", PAPER " --head prototype_inner --lambda 3"}},
    {"train", "temperature", FILE_OF, PAPER, "--temperature embed", "/run.json", {BEST " --temperature embed"}},
    {"train", "combine", FILE_OF, PAPER, "--combine sum", "/run.json", {BEST " --combine sum"}},
    {"train", "feature-norm", FILE_OF, PAPER, "--feature-norm layer", "/run.json", {BEST " --feature-norm none"}},
    {"train", "hop-activation", FILE_OF, PAPER, "--hop-activation relu", "/run.json", {BEST " --hop-activation relu"}},
    {"train", "hops", FILE_OF, PAPER, "--hops 1", "/run.json", {NULL}},
    {"train", "without", FILE_OF, BEST, "--without waves,diffused", "/run.json",
        {PAPER " --without waves", BEST " --without wave"}},
    {"train", "dropout", FILE_OF, PAPER, "--dropout 0.5", "/run.json", {BEST " --dropout 0.5"}},
    {"train", "power-iterations", FILE_OF, PAPER, "--power-iterations 1", "/run.json", {NULL}},
    {"train", "steps", FILE_OF, PAPER, "--steps 3", "/run.json", {NULL}},
    {"train", "episodes-per-step", FILE_OF, PAPER, "--episodes-per-step 5", "/run.json",
        {PAPER " --episodes-per-step 65536"}},
    {"train", "lr", FILE_OF, PAPER, "--lr 0.5", "/run.json", {NULL}},
    {"train", "weight-decay", FILE_OF, PAPER, "--weight-decay 0.5", "/run.json", {NULL}},
    {"train", "clip", FILE_OF, PAPER, "--clip 0.5", "/run.json", {NULL}},
    {"train", "smoothing", FILE_OF, PAPER, "--smoothing 0.5", "/run.json", {NULL}},
    {"train", "seed", FILE_OF, PAPER, "--seed 1", "/run.json", {NULL}},
    {"train", "out", PASSES, "train --pool mutag --dim 8 --k 2:4 --q 2:5 --steps 1 --quiet", "--out #", NULL, {NULL}},
    {"train", "resume", PASSES, "train --out @/done --quiet", "--resume", NULL, {NULL}},
    {"train", "new-lr", ELSEWHERE, NULL, NULL, "train.cases", {BEST " --new-lr 0.01"}},
    {"train", "checkpoint-every", COSTS, PAPER, "--checkpoint-every 1", "/weights.safetensors", {NULL}},
    {"train", "digest", FILE_OF, PAPER, "--digest", "/digests.jsonl", {PAPER " --digest --replay"}},
    {"train", "solve-health", FILE_OF, PAPER, "--solve-health", "/log.jsonl", {PAPER " --solve-health --replay"}},
    {"train", "max-rows", FILE_OF, PAPER, "--max-rows 9", "/run.json", {NULL}},
    {"train", "features", COSTS, PAPER, "--features host", "/weights.safetensors", {NULL}},
    {"train", "memory", COSTS, PAPER, "--memory 4G", "/weights.safetensors", {NULL}},
    {"train", "max-expand", COSTS, PAPER, "--max-expand 64", "/weights.safetensors", {NULL}},
    {"train", "cache", FOLDER_OF, PAPER, "--cache #c", "c", {NULL}},
    {"train", "device", COSTS, PAPER, "--device cpu", "/weights.safetensors", {NULL}},
    {"train", "math", NEEDS_GPU, NULL, NULL, NULL, {PAPER " --math tf32"}},
    {"train", "device-memory", NEEDS_GPU, NULL, NULL, NULL, {PAPER " --device-memory 4G"}},
    {"train", "deterministic", NEEDS_GPU, NULL, NULL, NULL, {PAPER " --deterministic"}},
    {"train", "replay", NEEDS_GPU, NULL, NULL, NULL, {PAPER " --replay"}},
    {"train", "threads", COSTS, PAPER, "--threads 1", "/weights.safetensors", {NULL}},
    {"train", "json", SAYS, RUN_OF, "--json", "\"gradient_norm\"", {NULL}},
    {"train", "quiet", SILENCES, RUN_OF, "--quiet", NULL, {RUN_OF " --json --quiet"}},
    /* eval */
    {"eval", "weights", CHANGES, MUTAG, "--weights random", NULL, {NULL}},
    {"eval", "recipe", FAILS, "eval --data mutag --shots 4 --seeds 2 --quiet", "--recipe paper", "best",
        {MUTAG " --recipe best"}},
    {"eval", "encoder", PASSES, "eval --weights @/own/weights.safetensors --data mutag --shots 4 --seeds 2 --quiet",
        "--encoder $/encoder_good.so", NULL, {MUTAG " --encoder $/encoder_good.so"}},
    {"eval", "head", CHANGES, MUTAG, "--head prototype_inner", NULL,
        {"eval --data mutag --head ridge,dot", MUTAG " --task gc --head ridge,dot"}},
    {"eval", "lambda", CHANGES, MUTAG, "--lambda 0.001", NULL,
        {"eval --data mutag --lambda 3", MUTAG " --head prototype_inner --lambda 3"}},
    {"eval", "hop", CHANGES, MUTAG, "--hop 3", NULL, {NULL}},
    {"eval", "pool", CHANGES, "eval --weights none --dim 8 --data mutag --shots 4 --seeds 2 --quiet --pool mutag",
        "--pool citeseer:nc", NULL, {MUTAG " --pool mutag", "eval --data mutag --pool mutag"}},
    {"eval", "dim", CHANGES, MUTAG, "--dim 9", NULL, {"eval --data mutag --dim 9"}},
    {"eval", "transductive", SAYS, "eval --data cora --task nc --shots 4 --seeds 1 --quiet", "--transductive",
        "trained+T",
        {MUTAG " --transductive", "eval --data cora --task lp --transductive",
            "eval --data cora --head ridge --transductive"}},
    {"eval", "suite", CHANGES, "eval --weights none --hop 1 --dim 8 --quiet --suite @/one.json", "--suite @/two.json",
        NULL, {NULL}},
    {"eval", "data", CHANGES, MUTAG, "--data enzymes", NULL,
        {"eval --weights none --hop 1 --suite @/one.json --data mutag"}},
    {"eval", "task", CHANGES, CORA, "--task nc", NULL, {"eval --weights none --hop 1 --suite @/one.json --task gc"}},
    {"eval", "protocol", CHANGES, MUTAG, "--protocol episode --episodes 2", NULL,
        {"eval --data cora --task lp --protocol episode", "eval --data cora --task lp --protocol public",
            "eval --suite @/one.json --protocol public"}},
    {"eval", "shots", CHANGES, MUTAG, "--shots 8", NULL,
        {"eval --weights none --hop 1 --data cora --task lp --head dot --shots 8", "eval --protocol public --shots 8"}},
    {"eval", "metric", CHANGES, CORA, "--metric auc", NULL,
        {CORA " --task nc --metric auc", CORA " --task lp --metric nll"}},
    {"eval", "episodes", CHANGES, EPISODES, "--episodes 4", NULL, {MUTAG " --episodes 4"}},
    {"eval", "queries", CHANGES, EPISODES, "--queries 5", NULL, {MUTAG " --queries 5"}},
    {"eval", "seeds", CHANGES, MUTAG, "--seeds 3", NULL,
        {"eval --data mutag --task gc --protocol episode --seeds 3", "eval --protocol public --seeds 3"}},
    {"eval", "seed", CHANGES, MUTAG, "--seed 1", NULL, {NULL}},
    {"eval", "draws", FOLDER_OF, MUTAG, "--draws #d", "d", {NULL}},
    {"eval", "max-rows", COSTS, MUTAG " --weights random", "--max-rows 500", NULL, {MUTAG " --max-rows 500"}},
    {"eval", "features", COSTS, MUTAG, "--features host", NULL, {NULL}},
    {"eval", "memory", COSTS, MUTAG, "--memory 4G", NULL, {NULL}},
    {"eval", "max-expand", COSTS, MUTAG, "--max-expand 64", NULL, {NULL}},
    {"eval", "cache", FOLDER_OF, MUTAG, "--cache #c", "c", {NULL}},
    {"eval", "device", COSTS, MUTAG, "--device cpu", NULL, {NULL}},
    {"eval", "math", NEEDS_GPU, NULL, NULL, NULL, {MUTAG " --math tf32"}},
    {"eval", "device-memory", NEEDS_GPU, NULL, NULL, NULL, {MUTAG " --device-memory 4G"}},
    {"eval", "threads", COSTS, MUTAG, "--threads 1", NULL, {NULL}},
    {"eval", "json", SAYS, MUTAG, "--json", "\"kind\":\"cell\"", {NULL}},
    {"eval", "quiet", HUSHES, "eval --weights none --hop 1 --dim 8 --shots 4 --seeds 2 --data mutag", "--quiet", NULL,
        {NULL}},
    /* compare */
    {"compare", "head", CHANGES, "compare @/a.jsonl @/b.jsonl", "--head ridge", NULL,
        {"compare @/a.jsonl @/b.jsonl --head svm"}},
    {"compare", "metric", CHANGES, "compare @/a.jsonl @/b.jsonl", "--metric auc", NULL,
        {"compare @/a.jsonl @/b.jsonl --metric recall"}},
    {"compare", "features", CHANGES, "compare @/a.jsonl @/b.jsonl", "--features hop", NULL,
        {"compare @/a.jsonl @/b.jsonl --features soup"}},
    {"compare", "json", SAYS, "compare @/a.jsonl @/b.jsonl", "--json", "\"kind\":\"difference\"", {NULL}},
    /* embed */
    {"embed", "weights", FILE_OF, "embed --data mutag --out #.npy", "--weights none", ".npy", {NULL}},
    {"embed", "recipe", FAILS, "embed --data mutag --out #.npy", "--recipe paper", "best",
        {EMBED " --recipe released"}},
    {"embed", "encoder", PASSES, "embed --weights @/own/weights.safetensors --data mutag --out #.npy",
        "--encoder $/encoder_good.so", NULL, {EMBED " --encoder $/encoder_good.so"}},
    {"embed", "data", FILE_OF, EMBED, "--data enzymes", ".npy", {NULL}},
    {"embed", "out", PASSES, "embed --weights none --data mutag", "--out #.npy", NULL, {NULL}},
    {"embed", "labels", FILE_OF, EMBED, "--labels #y.npy", "y.npy", {NULL}},
    {"embed", "hop", FILE_OF, EMBED, "--hop 1", ".npy", {"embed --data mutag --out #.npy --hop 1"}},
    {"embed", "max-rows", COSTS, "embed --data mutag --out #.npy", "--max-rows 50", ".npy", {EMBED " --max-rows 50"}},
    {"embed", "memory", COSTS, EMBED, "--memory 4G", ".npy", {NULL}},
    {"embed", "max-expand", COSTS, EMBED, "--max-expand 64", ".npy", {NULL}},
    {"embed", "cache", FOLDER_OF, "embed --weights none --data mutag --out @/kept.npy", "--cache #c", "c", {NULL}},
    {"embed", "device", COSTS, EMBED, "--device cpu", ".npy", {NULL}},
    {"embed", "math", NEEDS_GPU, NULL, NULL, NULL, {EMBED " --math tf32"}},
    {"embed", "device-memory", NEEDS_GPU, NULL, NULL, NULL, {EMBED " --device-memory 4G"}},
    {"embed", "threads", COSTS, EMBED, "--threads 1", ".npy", {NULL}},
    {"embed", "json", SAYS, EMBED, "--json", "{\"", {NULL}},
    {"embed", "quiet", SILENCES, EMBED, "--quiet", NULL, {NULL}},
    /* predict */
    {"predict", "data", CHANGES, PREDICT, "--data enzymes", NULL, {NULL}},
    {"predict", "task", FAILS, PREDICT, "--task nc", "expected labels of graphs", {NULL}},
    {"predict", "labels", PASSES, "predict --data mutag --quiet", "--labels @/seeds.csv", NULL, {NULL}},
    {"predict", "pairs", PASSES, "predict --data gnutella06 --task lp", "--pairs @/pairs.csv", NULL,
        {"predict --data cora --task lp --pairs @/seeds.csv --quiet", "predict --data cora --pairs @/seeds.csv",
            "predict --data cora --task lp --pairs @/pairs.csv --probabilities"}},
    {"predict", "known", PASSES, "predict --data enzymes --head ridge --quiet", "--known @/y.npy", NULL,
        {PREDICT " --known @/y.npy"}},
    {"predict", "readout", PASSES, "predict --data mutag --quiet", "--readout @/kept.safetensors", NULL,
        {PREDICT " --readout @/kept.safetensors"}},
    {"predict", "save", FILE_OF, PREDICT, "--save #.safetensors", ".safetensors",
        {"predict --data mutag --readout @/kept.safetensors --save #.safetensors"}},
    {"predict", "out", FILE_OF, PREDICT, "--out #.csv", ".csv", {NULL}},
    {"predict", "probabilities", CHANGES, PREDICT, "--probabilities", NULL, {NULL}},
    {"predict", "pca", CHANGES, PREDICT, "--pca", NULL,
        {PREDICT " --pca --out #.npy", "predict --data cora --task lp --pairs @/pairs.csv --pca"}},
    {"predict", "min-confidence", CHANGES, PREDICT, "--min-confidence 1", NULL, {NULL}},
    {"predict", "weights", CHANGES, PREDICT, "--weights @/done/weights.safetensors", NULL, {NULL}},
    {"predict", "head", CHANGES, PREDICT, "--head logistic", NULL,
        {"predict --data mutag --readout @/kept.safetensors --head ridge"}},
    {"predict", "lambda", CHANGES, PREDICT " --head ridge", "--lambda 9", NULL,
        {"predict --data mutag --readout @/kept.safetensors --lambda 9"}},
    {"predict", "transductive", CHANGES, PREDICT " --transductive no", "--transductive yes", NULL,
        {"predict --data mutag --readout @/kept.safetensors --transductive yes"}},
    {"predict", "expert", FAILS, PREDICT, "--expert @/y.npy", "expert y.npy: expected a graph whose nodes",
        {"predict --data mutag --readout @/kept.safetensors --expert @/y.npy",
            PREDICT " --expert @/y.npy --save #.safetensors"}},
    {"predict", "memory", COSTS, PREDICT, "--memory 4G", NULL, {NULL}},
    {"predict", "max-expand", COSTS, PREDICT, "--max-expand 64", NULL, {NULL}},
    {"predict", "cache", FOLDER_OF, "predict --data cora --labels @/seeds.csv --quiet", "--cache #c", "c", {NULL}},
    {"predict", "device", COSTS, PREDICT, "--device cpu", NULL, {NULL}},
    {"predict", "math", NEEDS_GPU, NULL, NULL, NULL, {PREDICT " --math tf32"}},
    {"predict", "device-memory", NEEDS_GPU, NULL, NULL, NULL, {PREDICT " --device-memory 4G"}},
    {"predict", "threads", COSTS, PREDICT, "--threads 1", NULL, {NULL}},
    {"predict", "quiet", HUSHES, "predict --data mutag --labels @/seeds.csv", "--quiet", NULL, {NULL}},
    /* suggest */
    {"suggest", "data", CHANGES, SUGGEST, "--data enzymes", NULL, {NULL}},
    {"suggest", "n", CHANGES, SUGGEST, "--n 7", NULL, {NULL}},
    {"suggest", "labels", CHANGES, SUGGEST, "--labels @/seeds.csv", NULL, {NULL}},
    {"suggest", "known", CHANGES, "suggest --data enzymes --n 3", "--known @/y.npy", NULL,
        {SUGGEST " --labels @/seeds.csv --known @/y.npy"}},
    {"suggest", "out", FILE_OF, SUGGEST, "--out #.csv", ".csv", {NULL}},
    {"suggest", "weights", CHANGES, SUGGEST, "--weights @/done/weights.safetensors", NULL, {NULL}},
    {"suggest", "memory", COSTS, SUGGEST, "--memory 4G", NULL, {NULL}},
    {"suggest", "max-expand", COSTS, SUGGEST, "--max-expand 64", NULL, {NULL}},
    {"suggest", "cache", FOLDER_OF, "suggest --data cora --n 2", "--cache #c", "c", {NULL}},
    {"suggest", "threads", COSTS, SUGGEST, "--threads 1", NULL, {NULL}},
    {"suggest", "device", COSTS, SUGGEST, "--device cpu", NULL, {NULL}},
    {"suggest", "math", NEEDS_GPU, NULL, NULL, NULL, {SUGGEST " --math tf32"}},
    {"suggest", "device-memory", NEEDS_GPU, NULL, NULL, NULL, {SUGGEST " --device-memory 4G"}},
    /* fit */
    {"fit", "head", CHANGES, FIT, "--head svm", NULL, {NULL}},
    {"fit", "shots", CHANGES, FIT, "--shots 5", NULL, {NULL}},
    {"fit", "lambda", CHANGES, FIT, "--lambda 1000", NULL,
        {FIT " --head prototype_inner --lambda 3", FIT " --tune loo --lambda 3"}},
    {"fit", "tune", CHANGES, FIT, "--tune loo", NULL, {FIT " --head prototype_inner --tune loo"}},
    {"fit", "episodes", CHANGES, FIT, "--episodes 4", NULL, {NULL}},
    {"fit", "queries", CHANGES, FIT, "--queries 5", NULL, {NULL}},
    {"fit", "ways", CHANGES, FIT, "--ways 3", NULL, {NULL}},
    {"fit", "seed", CHANGES, FIT, "--seed 1", NULL, {NULL}},
    {"fit", "draws", FILE_OF, FIT, "--draws #.npz", ".npz", {NULL}},
    {"fit", "standardise", CHANGES, FIT, "--standardise", NULL,
        {FIT " --centre --standardise", FIT " --normalise --standardise"}},
    {"fit", "centre", CHANGES, FIT, "--centre", NULL, {FIT " --normalise --centre"}},
    {"fit", "normalise", CHANGES, FIT, "--normalise", NULL, {FIT " --standardise --normalise"}},
    {"fit", "train", CHANGES, "fit @/Z.npy @/y.npy --head ridge --json", "--train @/few.txt", NULL,
        {FIT " --train @/few.txt", "fit @/Z.npy @/y.npy --ways 3 --train @/few.txt",
            "fit @/Z.npy @/y.npy --train @/few.txt --draws #.npz"}},
    {"fit", "test", CHANGES, "fit @/Z.npy @/y.npy --head ridge --train @/few.txt --json", "--test @/rest.txt", NULL,
        {FIT " --test @/few.txt", "fit @/Z.npy @/y.npy --queries 3 --test @/few.txt"}},
    {"fit", "save", FILE_OF, USED " --predict @/Z.npy --out #.csv", "--save #.safetensors", ".safetensors",
        {FIT " --save #.safetensors", "fit @/Z.npy @/y.npy --save #.safetensors",
            "fit --readout @/rows.safetensors --predict @/Z.npy --save #.safetensors"}},
    {"fit", "predict", SAYS, USED " --save #.safetensors", "--predict @/Z.npy", "row,label,probability",
        {FIT " --predict @/Z.npy", USED " --train @/few.txt --predict @/Z.npy"}},
    {"fit", "readout", PASSES, "fit --predict @/Z.npy", "--readout @/rows.safetensors", NULL,
        {USED " --readout @/rows.safetensors --predict @/Z.npy", "fit --readout @/rows.safetensors"}},
    {"fit", "out", SILENCES, USED " --predict @/Z.npy", "--out #.csv", NULL,
        {USED " --save #.safetensors --out #.csv"}},
    {"fit", "probabilities", CHANGES, USED " --predict @/Z.npy", "--probabilities", NULL,
        {USED " --save #.safetensors --probabilities"}},
    {"fit", "min-confidence", CHANGES, USED " --predict @/Z.npy", "--min-confidence 0.5", NULL,
        {USED " --save #.safetensors --min-confidence 0.5"}},
    {"fit", "pairs", SAYS, "fit @/Z.npy @/y.npy --shots 4 --episodes 3 --json", "--pairs", "\"fit pair\"",
        {FIT " --pairs"}},
    {"fit", "sweep", SAYS, FIT, "--sweep", "\"fit sweep\"",
        {"fit @/Z.npy @/y.npy --head prototype_inner --sweep", USED " --sweep --save #.safetensors"}},
    {"fit", "confusion", SAYS, FIT, "--confusion ridge", "\"fit confusion\"", {FIT " --confusion svm"}},
    {"fit", "diagnose", SAYS, FIT, "--diagnose", "\"diagnosis\"", {"fit @/Z.npy @/y.npy --no-geometry --diagnose"}},
    {"fit", "epsilon", CHANGES, FIT " --diagnose", "--epsilon 100", NULL,
        {FIT " --epsilon 100", "fit @/Z.npy @/y.npy --no-geometry --epsilon 100"}},
    {"fit", "no-geometry", LACKS, "fit @/Z.npy @/y.npy --shots 4 --episodes 3", "--no-geometry", "\nhull ",
        {FIT " --no-geometry"}},
    {"fit", "device", SAYS, FIT " --threads 2", "--device cpu --threads 1", "\"threads\":1,", {NULL}},
    {"fit", "math", NEEDS_GPU, NULL, NULL, NULL, {FIT " --math tf32"}},
    {"fit", "device-memory", NEEDS_GPU, NULL, NULL, NULL, {FIT " --device-memory 4G"}},
    {"fit", "max-expand", COSTS, "fit @/Z.npy @/y.npy --head ridge --shots 4 --episodes 3 --draws #.npz",
        "--max-expand 64", ".npz", {NULL}},
    {"fit", "threads", SAYS, FIT " --threads 2", "--threads 1", "\"threads\":1,", {NULL}},
    {"fit", "json", SAYS, "fit @/Z.npy @/y.npy --shots 4 --episodes 3", "--json", "\"ece_temperature\"", {NULL}},
    {"fit", "quiet", HUSHES, "fit @/Z.npy @/y.npy --shots 200 --episodes 2", "--quiet", NULL, {NULL}},
    /* data */
    {"data list", "json", SAYS, "data list", "--json", "{\"", {NULL}},
    {"data list", "all", CHANGES, "data list", "--all", NULL, {NULL}},
    {"data info", "json", SAYS, "data info mutag", "--json", "{\"", {NULL}},
    {"data info", "max-expand", ELSEWHERE, NULL, NULL, "data.cases", {NULL}},
    {"data verify", "json", ELSEWHERE, NULL, NULL, "data.cases", {NULL}},
    {"data verify", "max-expand", ELSEWHERE, NULL, NULL, "data.cases", {NULL}},
    {"data convert", "max-expand", ELSEWHERE, NULL, NULL, "data.cases", {NULL}},
    /* gradcheck */
    {"gradcheck", "order", CHANGES, "gradcheck mul", "--order 1", NULL, {NULL}},
    {"gradcheck", "seed", CHANGES, "gradcheck mul", "--seed 5", NULL, {NULL}},
    {"gradcheck", "certificate", SAYS, "gradcheck mul --order 1", "--certificate", "certificate", {NULL}},
    {"gradcheck", "op", CHANGES, "gradcheck --head ridge --order 1", "--op $/plugin_good.so", NULL,
        {"gradcheck mul --op $/plugin_good.so"}},
    {"gradcheck", "head", SAYS, "gradcheck mul --order 1", "--head ridge", "1 heads, 0 failed", {NULL}},
    {"gradcheck", "encoder", SAYS, "gradcheck mul --order 1", "--encoder $/encoder_good.so", "1 encoders, 0 failed",
        {NULL}},
    {"gradcheck", "threads", COSTS, "gradcheck mul", "--threads 1", NULL, {NULL}},
    {"gradcheck", "json", SAYS, "gradcheck mul", "--json", "{\"op\"", {NULL}},
    /* graph */
    {"graph", "text", DEFAULTS, "graph", "--text", NULL, {"graph --text --dot"}},
    {"graph", "dot", SAYS, "graph", "--dot", "digraph", {NULL}},
    {"graph", "values", CHANGES, "graph", "--values", NULL, {NULL}},
    {"graph", "forward", CHANGES, "graph", "--forward", NULL, {NULL}},
    {"graph", "out", FILE_OF, "graph", "--out #.tape", ".tape",
        {"graph --out #.tape --dot", "graph --out #.tape --text"}},
    /* explain */
    {"explain", "matrix", CHANGES, "explain solve", "--matrix @/A.csv", NULL, {"explain --matrix @/A.csv"}},
    {"explain", "n", CHANGES, "explain solve", "--n 4", NULL,
        {"explain --n 4", "explain solve --n 4 --matrix @/A.csv"}},
    {"explain", "seed", CHANGES, "explain solve", "--seed 1", NULL, {"explain --seed 1"}},
    {"explain", "step", SAYS, "explain solve", "--step", "Enter goes on", {"explain --step"}},
    {"explain", "json", SAYS, "explain solve", "--json", "\"latex\"",
        {"explain --json", "explain solve --step --json"}},
    /* lab */
    {"lab", "problem", CHANGES, LAB, "--problem root", NULL, {"lab conditioning --problem root"}},
    {"lab", "method", CHANGES, LAB, "--method implicit", NULL, {"lab conditioning --method implicit"}},
    {"lab", "iterations", CHANGES, LAB, "--iterations 6", NULL, {"lab conditioning --iterations 6"}},
    {"lab", "n", CHANGES, "lab truncation --iterations 3", "--n 5", NULL, {NULL}},
    {"lab", "runs", COSTS, LAB, "--runs 2", NULL, {"lab conditioning --runs 2"}},
    {"lab", "seed", CHANGES, LAB, "--seed 1", NULL, {NULL}},
    {"lab", "threads", COSTS, LAB, "--threads 2", NULL, {NULL}},
    {"lab", "json", SAYS, "lab adjoint --problem ridge --iterations 5 --runs 1", "--json", "\"peak_bytes\"", {NULL}},
    /* pitfalls */
    {"pitfalls", "seeds", CHANGES, "pitfalls origin --seeds 2", "--seeds 3", NULL,
        {"pitfalls cone Z.npy cora --seeds 3"}},
    {"pitfalls", "max-expand", COSTS, "pitfalls cone @/ring.npy @/ring.txt", "--max-expand 64", NULL,
        {"pitfalls origin --max-expand 64"}},
    {"pitfalls", "threads", COSTS, "pitfalls origin --seeds 2", "--threads 2", NULL, {NULL}},
    {"pitfalls", "json", SAYS, "pitfalls origin --seeds 2", "--json", "\"pitfall\"", {NULL}},
    /* doctor */
    {"doctor", "threads", ELSEWHERE, NULL, NULL, "inspect.cases", {NULL}},
    {"doctor", "json", ELSEWHERE, NULL, NULL, "inspect.cases", {NULL}},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* ---- running a line ---- */

/* One run of a line: its output, without text that differs between equal runs, and the path that # stood for. */
typedef struct outcome {
    char out[MAX_TEXT];
    char place[32];
    int code;
    bool spoke; /* on standard error */
} outcome;

/* Replaces every "name":VALUE, VALUE a number or a list, by nothing: times, and the words of the line itself. */
static void drop_member(char *text, const char *name) {
    char *at = text;
    while ((at = strstr(at, name))) {
        const char *end = at + strlen(name);
        end += *end == '[' ? strcspn(end, "]") + 1 : strcspn(end, ",}\n");
        memmove(at, end, strlen(end) + 1);
    }
}

static void drop_word(char *text, const char *word, char stands_for) {
    char *at = text;
    while ((at = strstr(at, word))) {
        *at = stands_for;
        memmove(at + 1, at + strlen(word), strlen(at + strlen(word)) + 1);
    }
}

/* Runs a line with the given words behind it; r->out is normalised. */
static void run_line(program *p, const char *line, const char *given, outcome *r) {
    static int runs;
    static char text[4096];
    const char *words[MOST_WORDS + 1];
    int n = 0;
    size_t used = 0;
    char source[1024], *rest = source, *word;
    snprintf(r->place, sizeof r->place, "run%d", runs++);
    snprintf(source, sizeof source, "%s %s", line, given ? given : "");
    while ((word = strsep(&rest, " "))) {
        if (!*word)
            continue;
        assert_true(n < MOST_WORDS);
        const char *start = word;
        words[n++] = text + used;
        for (; *word; word++) {
            char one[2] = {*word, '\0'};
            int more = *word == '#' ? snprintf(text + used, sizeof text - used, "%s/%s", p->folder, r->place)
                       : *word == '@' && (word == start) ? snprintf(text + used, sizeof text - used, "%s", p->folder)
                       : *word == '$' ? snprintf(text + used, sizeof text - used, "%s", getenv("MOCHI_PLUGINS"))
                                      : snprintf(text + used, sizeof text - used, "%s", one);
            used += (size_t)more;
            assert_true(used < sizeof text - 2);
        }
        text[used++] = '\0';
    }
    words[n] = NULL;
    run_program_to(p, NULL, words);
    r->code = p->code;
    r->spoke = p->err[0] != '\0';
    memcpy(r->out, p->out, sizeof r->out);
    static const char *const members[] = {"\"command\":", "\"seconds\":", "\"ms\":"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        drop_member(r->out, members[i]);
    drop_word(r->out, r->place, '#');
}

/* ---- comparing two ---- */

static off_t folder_bytes;

static int add_bytes(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)path, (void)at;
    folder_bytes += kind == FTW_F ? status->st_size : 0;
    return 0;
}

static off_t bytes_of_folder(const program *p, const outcome *r, const char *ending) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", r->place, ending);
    folder_bytes = 0;
    nftw(in_folder(p, name), add_bytes, 8, FTW_PHYS);
    return folder_bytes;
}

/* Whether the files of two runs with that ending hold the same; one that is absent differs from any. */
static bool same_files(const program *p, const outcome *a, const outcome *b, const char *ending) {
    char names[2][64], *data[2];
    size_t n[2];
    snprintf(names[0], sizeof names[0], "%s%s", a->place, ending);
    snprintf(names[1], sizeof names[1], "%s%s", b->place, ending);
    for (int i = 0; i < 2; i++)
        if (access(in_folder(p, names[i]), R_OK) != 0)
            return false;
    for (int i = 0; i < 2; i++)
        read_file(in_folder(p, names[i]), &data[i], &n[i]);
    bool same = n[0] == n[1] && !memcmp(data[0], data[1], n[0]);
    free(data[0]);
    free(data[1]);
    return same;
}

static bool has_effect(const program *p, const option_row *row, const outcome *base, const outcome *with) {
    switch (row->effect) {
    case CHANGES:
        return strcmp(base->out, with->out) != 0;
    case SAYS:
        return strstr(with->out, row->part) && !strstr(base->out, row->part);
    case LACKS:
        return !strstr(with->out, row->part) && strstr(base->out, row->part);
    case SILENCES:
        return base->out[0] && !with->out[0];
    case HUSHES:
        return base->spoke && !with->spoke;
    case FILE_OF:
        return !same_files(p, base, with, row->part);
    case FOLDER_OF:
        return bytes_of_folder(p, base, row->part) != bytes_of_folder(p, with, row->part);
    case COSTS:
    case DEFAULTS:
        return row->part ? same_files(p, base, with, row->part) : !strcmp(base->out, with->out);
    default:
        return true;
    }
}

static const char **chosen; /* commands, as the words of main name them; NULL: all */
static int wrong;           /* number of wrong rows; each prints a line */

#define WRONG(...) (wrong++, print_error(__VA_ARGS__))

/* The line without the option, run once for rows that follow each other. */
static const outcome *run_base(program *p, const option_row *row) {
    static const char *known = "";
    static outcome base;
    if (strcmp(known, row->line) != 0)
        run_line(p, row->line, NULL, &base);
    known = row->line;
    if ((base.code == 0) == (row->effect == PASSES))
        WRONG("%s, without --%s: exit code %d\n", row->line, row->option, base.code);
    return &base;
}

/* That a line has the result again that it had, where the row is about its being another one. */
static void check_repeats(program *p, const option_row *row, const outcome *base) {
    static const char *known = "";
    static outcome again;
    bool file = row->effect == FILE_OF && same_files(p, base, base, row->part);
    if (!(file || row->effect == CHANGES) || !strcmp(known, row->line))
        return;
    known = row->line;
    run_line(p, row->line, NULL, &again);
    if (file ? !same_files(p, base, &again, row->part) : strcmp(base->out, again.out) != 0)
        WRONG("%s has another result each time\n", row->line);
}

/* The line runs with and without the option, and they differ as the row says. */
static void check_effect(program *p, const option_row *row) {
    static outcome with;
    int expected = row->effect == FAILS ? 1 : 0;
    run_line(p, row->line, row->given, &with);
    if (with.code != expected || (expected && !strstr(p->err, row->part)))
        WRONG("%s %s: exit code %d: %s\n", row->line, row->given, with.code, p->err);
    if (!COMPARED)
        return;
    const outcome *base = run_base(p, row);
    check_repeats(p, row, base);
    if (!has_effect(p, row, base, &with))
        WRONG("%s: %s has not the effect that it should have: %s | %s\n", row->line, row->given, base->out, with.out);
}

/* One line on standard error that names the option, exit code 2, nothing on standard output. */
static void check_refusals(program *p, const option_row *row) {
    static outcome r;
    char named[64];
    snprintf(named, sizeof named, "--%s", row->option);
    for (int i = 0; i < MOST_REFUSED && row->refused[i]; i++) {
        run_line(p, row->refused[i], NULL, &r);
        if (r.code != 2 || r.out[0] || count_lines(p->err) != 1 || !strstr(p->err, named))
            WRONG("%s: exit code %d, '%s%s'; expected 2 and one line with %s\n", row->refused[i], r.code, r.out, p->err,
                named);
    }
}

/* ---- the tests ---- */

static void write_suite(const program *p, const char *name, int k) {
    FILE *file = fopen(in_folder(p, name), "w");
    fprintf(file,
        "{\"suite\": \"tiny\", \"seeds\": 2, \"tasks\": [{\"data\": \"mutag\", \"task\": \"gc\", \"k\": [%d]}]}\n", k);
    assert_int_equal(fclose(file), 0);
}

/* Whether this run of the test takes the command: all, the named ones, or with "-" before the names all others. */
static bool is_chosen(const char *command) {
    bool excludes = chosen && chosen[0][0] == '-';
    for (const char **name = chosen; name && *name; name++)
        if (!strcmp(*name + excludes, command))
            return !excludes;
    return !chosen || excludes;
}

/* Whether a line of a chosen command reads the file or the folder. */
static bool is_read(const char *file) {
    for (int i = 0; i < N_ROWS; i++) {
        const option_row *row = &rows[i];
        bool read = (row->line && strstr(row->line, file)) || (row->given && strstr(row->given, file));
        for (int j = 0; j < MOST_REFUSED && row->refused[j]; j++)
            read |= strstr(row->refused[j], file) != NULL;
        if (read && is_chosen(row->command))
            return true;
    }
    return false;
}

/* Two evaluations from different seeds. */
static void prepare_lines(program *p) {
    for (int seed = 0; seed < 2; seed++) {
        char seed_text[2] = {(char)('0' + seed), '\0'};
        run_program_to(p, in_folder(p, seed ? "b.jsonl" : "a.jsonl"),
            (const char *const[]){"eval", "--weights", "none", "--hop", "1", "--dim", "8", "--shots", "4", "--seeds",
                "2", "--quiet", "--data", "cora", "--head", "ridge,prototype_inner", "--seed", seed_text, "--json",
                NULL});
        assert_ended(p, 0, NULL);
    }
}

/* Every step-th number from first to before end, one a line. */
static void write_numbers(const char *path, int first, int end, int step) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = first; i < end; i += step)
        fprintf(file, "%d\n", i);
    assert_int_equal(fclose(file), 0);
}

/* Makes the files that the lines of the chosen commands read. */
static void prepare(program *p) {
    static outcome r;
    static const char *const made[][2] = {
        {"@/y.npy", "embed --weights none --data enzymes --out @/Z.npy --labels @/y.npy --quiet"},
        {"@/done", "train --pool mutag --dim 8 --k 2:4 --q 2:5 --steps 2 --quiet --out @/done"},
        {"@/noted",
            "train --pool mutag --dim 8 --k 2:4 --q 2:5 --steps 2 --quiet --recipe paper --digest --out @/noted"},
        {"@/own", "train --pool mutag --dim 8 --k 2:4 --q 2:5 --steps 2 --quiet --encoder $/encoder_good.so --recipe "
                  "paper --out @/own"},
        {"@/kept.safetensors", "predict --data mutag --labels @/seeds.csv --save @/kept.safetensors --quiet"},
        {"@/ring.npy", "embed --weights none --data @/ring.txt --out @/ring.npy --quiet"},
        {"@/rows.safetensors", "fit @/Z.npy @/y.npy --head ridge --save @/rows.safetensors --quiet"},
    };
    write_text(in_folder(p, "pairs.csv"), "from,to\n0,5000\n7,9\n");
    write_numbers(in_folder(p, "few.txt"), 0, 600, 2);
    write_numbers(in_folder(p, "rest.txt"), 1, 600, 6);
    char ring[2000] = "";
    for (int i = 0; i < 60; i++)
        sprintf(ring + strlen(ring), "%d %d\n%d %d\n", i, (i + 1) % 60, i, (i + 2 + i % 3) % 60);
    write_text(in_folder(p, "ring.txt"), ring);
    write_text(in_folder(p, "A.csv"), "2,1\n0,3\n");
    write_text(in_folder(p, "seeds.csv"), "graph,label\n0,a\n1,b\n2,b\n3,a\n4,b\n5,a\n");
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (is_read(made[i][0])) {
            run_line(p, made[i][1], NULL, &r);
            assert_ended(p, 0, NULL);
        }
    if (is_read("@/a.jsonl"))
        prepare_lines(p);
    write_suite(p, "one.json", 4);
    write_suite(p, "two.json", 8);
}

TEST(options_do_what_they_say) {
    program *p = *state;
    int looked_at = 0;
    wrong = 0;
    prepare(p);
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].line && is_chosen(rows[i].command)) {
            check_effect(p, &rows[i]);
            looked_at++;
        }
    print_message("%d options looked at\n", looked_at);
    assert_true(looked_at > 0);
    assert_int_equal(wrong, 0);
}

TEST(options_without_effect_are_refused) {
    program *p = *state;
    wrong = 0;
    for (int i = 0; i < N_ROWS; i++)
        if (is_chosen(rows[i].command))
            check_refusals(p, &rows[i]);
    assert_int_equal(wrong, 0);
}

/* Whether the source of a test holds the option as a word of its own. */
TEST(options_of_other_tests_are_there) {
    (void)state;
    for (int i = 0; i < N_ROWS; i++) {
        char path[64], word[64], *text;
        size_t n;
        if (rows[i].effect != ELSEWHERE)
            continue;
        snprintf(path, sizeof path, "tests/cli/%s", rows[i].part);
        snprintf(word, sizeof word, "--%s", rows[i].option);
        read_file(path, &text, &n);
        text[n] = '\0';
        if (!strstr(text, word))
            fail_msg("%s gives no %s", path, word);
        free(text);
    }
}

static bool has_row(const char *command, const char *option) {
    for (int i = 0; i < N_ROWS; i++)
        if (!strcmp(rows[i].command, command) && !strcmp(rows[i].option, option))
            return true;
    return false;
}

/* The options of a page: --NAME six columns in, behind "  -x, " or blanks. Every option has a row, except the ones that
 * argp adds. Returns their number. */
static int check_page(const char *command, const char *page) {
    int n = 0;
    for (const char *line = page; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char option[64];
        if (strspn(line, " ") != 6 || sscanf(line, " --%63[a-z0-9-]", option) != 1 || !strcmp(option, "usage"))
            continue;
        if (!has_row(command, option))
            fail_msg(
                "mochi %s --%s has no row in the table: say what it does, and where it does nothing", command, option);
        n++;
    }
    return n;
}

static int check_command(program *p, const char *command) {
    static outcome r;
    run_line(p, command, "--help", &r);
    assert_int_equal(r.code, 0);
    int rows_of = 0, found = check_page(command, r.out);
    for (int i = 0; i < N_ROWS; i++)
        rows_of += !strcmp(rows[i].command, command);
    if (found != rows_of)
        fail_msg("mochi %s --help has %d options, the table %d", command, found, rows_of);
    return found;
}

/* Takes commands from the program's own list, and the actions of data, so that no command and no option can be
 * forgotten. */
TEST(no_option_is_forgotten) {
    program *p = *state;
    static char page[MAX_TEXT];
    static const char *const actions[] = {"list", "info", "get", "verify", "convert"};
    int all = 0, commands = 0;
    RUN(p, "--help");
    snprintf(page, sizeof page, "%s", p->out);
    for (const char *line = page; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char command[32];
        if (strncmp(line, "  ", 2) != 0 || line[2] == ' ' || sscanf(line, "  %31[a-z-]  ", command) != 1 ||
            !strcmp(command, "mochi"))
            continue;
        commands++;
        if (strcmp(command, "data") != 0)
            all += check_command(p, command);
    }
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        char command[32];
        snprintf(command, sizeof command, "data %s", actions[i]);
        all += check_command(p, command);
    }
    assert_true(commands >= 15);
    assert_int_equal(all, N_ROWS);
}

/* Words: the commands to look at, or each with "-" before it all others; without them all. */

int main(int argc, char **argv) {
    chosen = argc > 1 ? (const char **)argv + 1 : NULL;
    return run_suite();
}
