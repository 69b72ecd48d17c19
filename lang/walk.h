/* walk.h - loops over the nodes of a tree, parents first. What is still to come waits in the walk itself, on the heap
 * only where that is more than WALK_ROOM nodes. A loop may be left by break and return. Each kind of node has its own
 * loops, made of EACH_NODE: EACH_EXPR and its like in lang/expr.h, EACH_STMT in lower/kernel/kernel.h. */
#ifndef LANG_WALK_H
#define LANG_WALK_H

#include <stddef.h>
#include <stdlib.h>

enum { WALK_ROOM = 24 };

typedef struct TreeWalk {
    const void *at; /* the node at hand, whose children come next; NULL: they do not */
    int count, capacity;
    const void **items; /* what is to come, the next one last */
    const void *own[WALK_ROOM];
} TreeWalk;

void walk_grow(TreeWalk *walk);

/* NULL is no node. */
static inline void walk_push(TreeWalk *walk, const void *node) {
    if (!node)
        return;
    if (walk->count == walk->capacity)
        walk_grow(walk);
    walk->items[walk->count++] = node;
}

static inline TreeWalk *walk_begin(TreeWalk *walk, const void *root) {
    walk->at = NULL;
    walk->count = 0;
    walk->capacity = WALK_ROOM;
    walk->items = walk->own;
    walk_push(walk, root);
    return walk;
}

static inline const void *walk_next(TreeWalk *walk) {
    return walk->at = walk->count ? walk->items[--walk->count] : NULL;
}

static inline void walk_end(TreeWalk *walk) {
    if (walk->items != walk->own)
        free(walk->items);
}

#define EACH_NODE(Type, node, begin, next)                                                                             \
    for (TreeWalk node##_walk __attribute__((cleanup(walk_end))), *node##_run = begin; node##_run; node##_run = NULL)  \
        for (Type * node; (node = next(&node##_walk));)

/* Inside of such a loop: leaves out what is below the node at hand. */
#define SKIP_BELOW(node) (node##_walk.at = NULL)

#endif
