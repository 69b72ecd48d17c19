/* plain.h - the meaning of a Program by plain recursion, value_apply by value_apply: what the interpreter is held
 * against. */
#ifndef TESTS_PLAIN_H
#define TESTS_PLAIN_H

#include "lang/program.h"
#include "lang/value.h"

/* How the terms of a reduction are combined. */
typedef enum Order { ORDER_SOURCE, ORDER_REVERSED, ORDER_PAIRS, ORDER_CONTRACTED, ORDER_MISSING_TERM } Order;

typedef struct Plain {
    const Program *program;
    const int64_t *sizes;
    void *const *arguments;
    Order order;
    struct Binding_of {
        const Var *var;
        int64_t value;
    } bindings[512];
    int binding_count;
    int64_t steps, step_limit; /* elements visited; beyond the limit, where there is one, all are 0 */
} Plain;

/* An element of any tensor of the program. */
Value plain_element(Plain *plain, const Tensor *tensor, const int64_t *index);
int64_t plain_dim(Plain *plain, const Tensor *tensor, int d);

#endif
