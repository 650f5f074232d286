/* tools/python/door/recipes.h - the recipes of `mochi train` (tools/train/recipe.h), for mochi/graphs/recipes.py. */
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
bool reads_itself(const recipe *r);
void recipe_settle(recipe *r);
bool recipe_set(recipe *r, const char *key, const char *value, char expected[256]);
char *recipe_text(const recipe *r);
void free_names(names *list);
void free(void *text);
