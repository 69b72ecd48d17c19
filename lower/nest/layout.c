/* layout.c - layouts: what (j/16, k, j%16) says of a tensor's dimensions, and the primitives that set the layout of a
 * stage's buffer.
 *
 * A layout is a list of components (index / a) % b. The components of a dimension hold each of its elements once: the
 * outermost has no modulus, each next one begins where the last ends, and the innermost has divisor 1.
 */
#include "lower/nest/state.h"

#include <ctype.h>
#include <string.h>

/* --- names of dimensions ------------------------------------------------------------------------------------------ */

const char *without_r(const char *name) {
    return strncmp(name, "r_", 2) == 0 && name[2] != '\0' ? name + 2 : name;
}

static bool same_index_name(const char *wanted, const char *name) {
    return strcmp(wanted, name) == 0 || strcmp(wanted, without_r(name)) == 0;
}

static bool same_size_name(const char *wanted, const char *size) {
    size_t i = 0;
    for (; size[i] != '\0'; i++)
        if (wanted[i] != size[i] && wanted[i] != tolower((unsigned char)size[i]))
            return false;
    return wanted[i] == '\0';
}

/* "d0", "d1", ... */
static bool is_number_name(const char *name, int d) {
    int number = 0;
    for (const char *c = name + 1; *c >= '0' && *c <= '9' && number <= d; c++)
        number = 10 * number + (*c - '0');
    return name[0] == 'd' && name[1] != '\0' && number == d && strspn(name + 1, "0123456789") == strlen(name + 1);
}

static bool uses_name(const Expr *index, const char *name) {
    EACH_EXPR(e, index) {
        if (e->kind == EXPR_VAR && same_index_name(name, e->var->name))
            return true;
        if (e->kind == EXPR_READ)
            SKIP_BELOW(e);
    }
    return false;
}

static int fit_of_reads(const LayoutSubject *subject, const StageState *consumer, const char *name, int d) {
    int fit = 0;
    for (int k = 0; k < consumer->accesses.count; k++) {
        const Expr *read = consumer->accesses.items[k].read;
        if (read->tensor != subject->tensor)
            continue;
        int found = !uses_name(read->args[d], name) ? 0 : read->args[d]->kind == EXPR_VAR ? 3 : 2;
        fit = found > fit ? found : fit;
    }
    return fit;
}

/* How well a name fits the dimension. 4: the index that writes it. The best of all reads: 3 the index itself, 2 part of
 * the index. 1: dN or the size's name. */
static int name_fit(const LayoutSubject *subject, const char *name, int d) {
    const char *size = subject->tensor->dim_names != NULL ? subject->tensor->dim_names[d] : NULL;
    if (subject->axes != NULL && same_index_name(name, subject->axes[d]->name))
        return 4;
    int fit = is_number_name(name, d) || (size != NULL && same_size_name(name, size));
    for (int i = 0; i < subject->consumers.count; i++) {
        int found = fit_of_reads(subject, subject->consumers.items[i], name, d);
        fit = found > fit ? found : fit;
    }
    return fit;
}

static bool find_dimension(const LayoutSubject *subject, const PrimArg *arg, int *dimension) {
    const char *name = arg->name;
    int best = 0, ties = 0;
    for (int d = 0; d < subject->tensor->rank; d++) {
        int fit = name_fit(subject, name, d);
        if (fit > best) {
            best = fit;
            ties = 0;
            *dimension = d;
        } else if (fit == best && fit > 0) {
            ties++;
        }
    }
    const char *tensor = subject->tensor->name;
    if (best == 0)
        return refuse_at(subject->state, arg,
                         "%s names no dimension of %s: an index that reads it, the name of a size, or d0, d1, ...",
                         name, tensor);
    return ties == 0 ||
           refuse_at(subject->state, arg, "%s names more than one dimension of %s: d0, d1, ... name one", name, tensor);
}

/* --- components --------------------------------------------------------------------------------------------------- */

static bool component_operand(const LayoutSubject *subject, const Prim *prim, const PrimArg *arg, int64_t *value) {
    const PrimArg *number = &arg->items[1];
    if (arg->count != 2 || (number->kind != ARG_INT && number->kind != ARG_HOLE))
        return refuse_at(subject->state, number, "a layout divides by numbers");
    return argument_integer(subject->state, prim, number, value) &&
           (*value >= 1 ||
            refuse_at(subject->state, number, "a layout divides by at least 1, not %lld", (long long)*value));
}

/* Divides (x / a) % b further, by / c or % c. */
static bool read_component(const LayoutSubject *subject, const Prim *prim, const PrimArg *arg, LayoutPart *component) {
    NestState *state = subject->state;
    if (arg->kind == ARG_NAME) {
        *component = (LayoutPart){.part.divisor = 1, .name = without_r(arg->name)};
        return find_dimension(subject, arg, &component->part.dimension);
    }
    if (arg->kind != ARG_OP)
        return refuse_at(state, arg, "a layout lists dimensions: j, j/16 or j%%16");
    int64_t c;
    if (!component_operand(subject, prim, arg, &c) || !read_component(subject, prim, &arg->items[0], component))
        return false;
    OrderPart *part = &component->part;
    int64_t modulus = part->modulus;
    if (modulus != 0 && modulus % c != 0)
        return refuse_at(state, arg, "%lld does not divide %lld, so the layout would not hold each element once",
                         (long long)c, (long long)modulus);
    if (arg->op == '%')
        part->modulus = c;
    else if (__builtin_mul_overflow(part->divisor, c, &part->divisor))
        return refuse_at(state, arg, "the divisors of the layout multiply to more than 64 bits hold");
    else if (modulus != 0)
        part->modulus = modulus / c;
    return true;
}

/* The component of a dimension that continues where one of this divisor begins; -1: none. A component that holds a
 * single value, such as j%1, comes first: it fits anywhere at the end. */
static int next_component(const Layout *layout, const bool *taken, int dimension, int64_t divisor) {
    int next = -1;
    for (int i = 0; i < layout->count; i++) {
        const OrderPart *part = &layout->parts[i].part;
        if (part->dimension != dimension || taken[i])
            continue;
        if (divisor != 0 && part->modulus == 1 && (divisor == 1 || divisor == part->divisor))
            return i;
        bool adjoins = part->modulus > 1 && part->divisor * part->modulus == divisor;
        if (next < 0 && (divisor == 0 ? part->modulus == 0 : adjoins))
            next = i;
    }
    return next;
}

/* Walks from the outermost component, which has no modulus, down to divisor 1: each begins where the last one ends. */
static bool check_dimension(const LayoutSubject *subject, Layout *layout, int d) {
    int used = 0, held = 0;
    for (int i = 0; i < layout->count; i++)
        held += layout->parts[i].part.dimension == d;
    int64_t divisor = 0;
    bool *taken = ARENA_ARRAY(subject->state->arena, bool, layout->count);
    for (int i; (i = next_component(layout, taken, d, divisor)) >= 0; used++) {
        LayoutPart *component = &layout->parts[i];
        if (held > 1)
            component->name = arena_printf(subject->state->arena, "%s_%d", component->name, used);
        divisor = divisor == 1 ? 1 : component->part.divisor;
        taken[i] = true;
    }
    if (divisor == 1 && used == held)
        return true;
    const char *name = subject->names[d];
    return refuse(subject->state,
                  "the layout does not hold each element of dimension %s of %s once: %s, or %s/16 and %s%%16, do", name,
                  subject->tensor->name, name, name, name);
}

bool layout_read(const LayoutSubject *subject, const Prim *prim, const PrimArg *list, Layout *layout) {
    int rank = subject->tensor->rank, count = list != NULL ? list->count : rank;
    layout->count = count;
    layout->parts = ARENA_ARRAY(subject->state->arena, LayoutPart, count);
    for (int i = 0; i < count; i++) {
        if (list == NULL)
            layout->parts[i] = (LayoutPart){.part = {.dimension = i, .divisor = 1}, .name = subject->names[i]};
        else if (!read_component(subject, prim, &list->items[i], &layout->parts[i]))
            return false;
    }
    for (int d = 0; list != NULL && d < rank; d++)
        if (!check_dimension(subject, layout, d))
            return false;
    return true;
}

/* --- the primitives ----------------------------------------------------------------------------------------------- */

/* The stage that writes the tensor, if its buffer is the compiler's own; NULL when refused. */
static StageState *stored_stage(NestState *state, const Prim *prim, const Tensor *tensor) {
    const char *spelling = prim_info[prim->op].spelling;
    StageState *stage = state_producer(state, tensor);
    if (stage != NULL && stage->updates != NULL)
        stage = stage->updates; /* both write its buffer */
    if (stage == NULL)
        refuse(state, "%s is %s; cache_read makes a copy that %s may change", tensor->name,
               tensor->role == ROLE_CONSTANT ? "a constant" : "an argument: the caller decides how it is stored",
               spelling);
    else if (stage_output(stage->nest.stage) != NULL)
        refuse(state,
               "%s is an output: the caller decides how it is stored; cache_write makes a buffer that %s may "
               "change",
               stage_output(stage->nest.stage)->name, spelling);
    else if (stage->nest.inlined)
        refuse(state, "%s is inlined: it has no buffer", tensor->name);
    else
        return stage;
    return NULL;
}

static const char *const *axis_names(NestState *state, const Stage *stage) {
    const char **names = ARENA_ARRAY(state->arena, const char *, stage->axis_count);
    for (int d = 0; d < stage->axis_count; d++)
        names[d] = stage->axes[d]->name;
    return names;
}

static ElementOrder *order_new(NestState *state, const Layout *layout) {
    ElementOrder *order = ARENA_NEW(state->arena, ElementOrder);
    order->count = layout->count;
    order->parts = ARENA_ARRAY(state->arena, OrderPart, layout->count);
    for (int i = 0; i < layout->count; i++)
        order->parts[i] = layout->parts[i].part;
    return order;
}

static bool is_row_major(const Layout *layout, const Tensor *tensor) {
    for (int i = 0; i < layout->count; i++)
        if (layout->parts[i].part.dimension != i || layout->parts[i].part.modulus != 0)
            return false;
    return layout->count == tensor->rank;
}

bool apply_layout(NestState *state, const Prim *prim) {
    const Tensor *tensor = argument_tensor(state, prim, positional(prim, 0));
    if (tensor != NULL && tensor->role == ROLE_CONSTANT)
        return copy_constant(state, prim, tensor, positional(prim, 1));
    StageState *stage = tensor != NULL ? stored_stage(state, prim, tensor) : NULL;
    if (stage == NULL)
        return false;
    if (stage->order != NULL)
        return refuse(state, "%s is stored in an order of its own already: its layout comes once, before storage_align",
                      tensor->name);
    const Stage *computed = stage->nest.stage;
    LayoutSubject subject = {state, tensor, computed->axes, axis_names(state, computed),
                             tensor_readers(state, tensor, NULL)};
    Layout layout;
    if (!layout_read(&subject, prim, positional(prim, 1), &layout))
        return false;
    if (is_row_major(&layout, tensor))
        no_effect(state);
    else
        stage->order = order_new(state, &layout);
    return true;
}

static ElementOrder *row_major(NestState *state, int rank) {
    ElementOrder *order = ARENA_NEW(state->arena, ElementOrder);
    order->count = rank;
    order->parts = ARENA_ARRAY(state->arena, OrderPart, rank);
    for (int d = 0; d < rank; d++)
        order->parts[d] = (OrderPart){.dimension = d, .divisor = 1};
    return order;
}

static bool read_alignment(NestState *state, const Prim *prim, int64_t *align, int64_t *offset) {
    const PrimArg *key = prim_keyword(prim, "offset");
    *offset = 0;
    if (!argument_integer(state, prim, positional(prim, 2), align) ||
        (key != NULL && !argument_integer(state, prim, key, offset)))
        return false;
    if (*align < 1 || *align > INT32_MAX)
        return refuse(state, "a stride is aligned to a number of elements from 1 to %d, not %lld", INT32_MAX,
                      (long long)*align);
    return (*offset >= 0 && *offset < *align) ||
           refuse(state, "the offset %lld is not from 0 to %lld, below what it is aligned to", (long long)*offset,
                  (long long)*align - 1);
}

bool apply_storage_align(NestState *state, const Prim *prim) {
    const Tensor *tensor = argument_tensor(state, prim, positional(prim, 0));
    StageState *stage = tensor != NULL ? stored_stage(state, prim, tensor) : NULL;
    int64_t dimension, align, offset;
    if (stage == NULL || !argument_integer(state, prim, positional(prim, 1), &dimension) ||
        !read_alignment(state, prim, &align, &offset))
        return false;
    int count = stage->order != NULL ? stage->order->count : tensor->rank;
    if (dimension < 0 || dimension >= count)
        return refuse(state, "the buffer of %s has %d dimension%s, counted from 0: there is no %lld", tensor->name,
                      count, count == 1 ? "" : "s", (long long)dimension);
    if (align == 1) {
        no_effect(state);
        return true;
    }
    if (stage->order == NULL)
        stage->order = row_major(state, tensor->rank);
    stage->order->parts[dimension].align = align;
    stage->order->parts[dimension].offset = offset;
    stage->aligned_by = state->prim;
    return true;
}
