/* tools/python/door/recipes.h - the recipes of `mochi train` (tools/train/recipe.h), for mochi/graphs/recipes.py. */
typedef struct names {
    char **items;
    int count;
} names;
typedef struct recipe {
    int number;
    names pool;
    mo_mochi_options model;
    mo_invariant_options invariant;
    char head[1024];
    mo_feature_options features;
    double link_share, family[3];
    int64_t steps;
    int episodes_per_step;
    int64_t max_rows;
    mo_adamw_options adamw;
    mo_plan_options plan;
    uint64_t seed;
    ...;
} recipe;
recipe recipe_defaults(int number);
bool reads_itself(const recipe *r);
mo_trainer_options recipe_training(const recipe *r);
void recipe_settle(recipe *r);
char *recipe_text(const recipe *r);
void free_names(names *list);
void free(void *text);
