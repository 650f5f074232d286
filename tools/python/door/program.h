/* tools/python/door/program.h - the parts of the program that Python calls: the recipes of `mochi train`
 * (tools/train/recipe.h), and an example in words (tools/predict/example_words.h). */
typedef struct names {
    char **items;
    int count;
} names;
typedef struct recipe {
    names pool;
    mo_mochi_options model;
    char head[1024];
    mo_feature_options features;
    mo_trainer_options training;
    double link_share, family[3];
    ...;
} recipe;
recipe recipe_defaults(int number);
void recipe_settle(recipe *r);
const char *recipe_refuses(const recipe *r, const char *option);
bool recipe_set(recipe *r, const char *key, const char *value, char expected[256]);
char *recipe_text(const recipe *r);
void free_names(names *list);
char *example_words(const mo_graph *graph, int64_t id, const int64_t *class_of, char *const *class_name);
void free(void *text);
