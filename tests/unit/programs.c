/* programs.c - see programs.h. Needs only the makers of lang/expr.h. */
#include "programs.h"
#include <stdarg.h>
#include <string.h>

ProgramBuilder program_begin(Arena *arena, const char *name) {
    return (ProgramBuilder){.arena = arena, .name = name};
}

static void add_arguments(Program *program, const Tensor *const *tensors, int count) {
    for (int i = 0; i < count; i++) {
        program->arguments[program->argument_count++].tensor = tensors[i];
        program->tensors[program->tensor_count++] = tensors[i];
    }
}

Program *program_end(ProgramBuilder *b) {
    Program *program = ARENA_NEW(b->arena, Program);
    program->arena = b->arena;
    program->name = program->symbol = b->name;
    program->size_count = b->sizes.count;
    program->sizes = b->sizes.items;
    program->arguments = ARENA_ARRAY(b->arena, Argument, b->inputs.count + b->outputs.count);
    program->tensors = ARENA_ARRAY(b->arena, const Tensor *, b->inputs.count + b->outputs.count + b->temporaries.count);
    add_arguments(program, b->inputs.items, b->inputs.count);
    add_arguments(program, b->outputs.items, b->outputs.count);
    for (int i = 0; i < b->temporaries.count; i++)
        program->tensors[program->tensor_count++] = b->temporaries.items[i];
    program->stage_count = b->stages.count;
    program->stages = b->stages.items;
    program->bound_count = b->bounds.count;
    program->bounds = b->bounds.items;
    return program;
}

Expr *program_size(ProgramBuilder *b, const char *name, int64_t value) {
    if (value >= 0) {
        struct Binding binding = {name, value};
        list_push(b->arena, &b->bounds, binding);
        return expr_int(b->arena, value);
    }
    const Var *size = var_new(b->arena, VAR_SIZE, TYPE_INT64, name, NULL);
    list_push(b->arena, &b->sizes, size);
    return expr_var(b->arena, size);
}

Tensor *program_tensor(ProgramBuilder *b, Role role, ElementType type, const char *name, int rank, ...) {
    Tensor *tensor = ARENA_NEW(b->arena, Tensor);
    *tensor = (Tensor){.name = name, .type = type, .role = role, .rank = rank};
    tensor->dims = ARENA_ARRAY(b->arena, Expr *, rank);
    tensor->dim_names = ARENA_ARRAY(b->arena, const char *, rank);
    va_list list;
    va_start(list, rank);
    for (int d = 0; d < rank; d++) {
        tensor->dims[d] = va_arg(list, Expr *);
        bool named = tensor->dims[d]->kind == EXPR_VAR;
        tensor->dim_names[d] = named ? tensor->dims[d]->var->name : arena_printf(b->arena, "d%d", d);
    }
    va_end(list);
    if (role == ROLE_INPUT)
        list_push(b->arena, &b->inputs, tensor);
    else if (role == ROLE_OUTPUT)
        list_push(b->arena, &b->outputs, tensor);
    else
        list_push(b->arena, &b->temporaries, tensor);
    return tensor;
}

Var *program_index(ProgramBuilder *b, const char *name, Expr *extent, bool reduction) {
    Var *var = var_new(b->arena, VAR_AXIS, TYPE_INT64, name, extent);
    var->reduction = reduction;
    return var;
}

Stage *program_stage(ProgramBuilder *b, Tensor *tensor, Combine combine, Expr *initial, Expr *value, int axis_count,
                     int reduction_count, ...) {
    if (combine != COMBINE_NONE && initial == NULL)
        initial = combine_identity(b->arena, combine, tensor->type);
    Stage *stage = stage_new(b->arena, (Component){tensor, initial, value});
    stage->combine = combine;
    stage->axis_count = axis_count;
    stage->axes = ARENA_ARRAY(b->arena, const Var *, axis_count);
    stage->reduction_count = reduction_count;
    stage->reductions = ARENA_ARRAY(b->arena, const Var *, reduction_count);
    va_list list;
    va_start(list, reduction_count);
    for (int i = 0; i < axis_count; i++)
        stage->axes[i] = va_arg(list, Var *);
    for (int i = 0; i < reduction_count; i++)
        stage->reductions[i] = va_arg(list, Var *);
    va_end(list);
    for (int d = 0; d < axis_count; d++)
        tensor->dim_names[d] = stage->axes[d]->name;
    list_push(b->arena, &b->stages, stage);
    return stage;
}

Expr *program_read(ProgramBuilder *b, const Tensor *tensor, Expr *otherwise, ...) {
    Expr *indices[RANK_LIMIT];
    va_list list;
    va_start(list, otherwise);
    for (int d = 0; d < tensor->rank; d++)
        indices[d] = va_arg(list, Expr *);
    va_end(list);
    return expr_read(b->arena, tensor, indices, otherwise);
}

static Expr *var(ProgramBuilder *b, const Var *v) {
    return expr_var(b->arena, v);
}

static Expr *add(ProgramBuilder *b, Expr *x, Expr *y) {
    return expr_binary(b->arena, OP_ADD, x, y);
}

static Expr *mul(ProgramBuilder *b, Expr *x, Expr *y) {
    return expr_binary(b->arena, OP_MUL, x, y);
}

static Expr *plus(ProgramBuilder *b, Expr *x, int64_t constant) {
    return add(b, x, expr_int(b->arena, constant));
}

static Expr *times(ProgramBuilder *b, int64_t factor, Expr *x) {
    return mul(b, expr_int(b->arena, factor), x);
}

static void add_product(ProgramBuilder *b, ElementType type, Tensor *C, Expr *initial, Expr *M, Expr *N, Expr *K,
                        Tensor *A, Tensor *B) {
    Var *i = program_index(b, "i", M, false), *j = program_index(b, "j", N, false);
    Var *k = program_index(b, "r_k", K, true);
    if (initial != NULL)
        initial = program_read(b, initial->tensor, NULL, var(b, i), var(b, j));
    Expr *value =
        mul(b, program_read(b, A, NULL, var(b, i), var(b, k)), program_read(b, B, NULL, var(b, k), var(b, j)));
    program_stage(b, C, COMBINE_ADD, initial, expr_cast(b->arena, type, value), 2, 1, i, j, k);
}

Program *program_matmul(Arena *arena, ElementType type, int64_t m, int64_t n, int64_t k) {
    ProgramBuilder b = program_begin(arena, "matmul");
    Expr *M = program_size(&b, "M", m), *K = program_size(&b, "K", k), *N = program_size(&b, "N", n);
    Tensor *A = program_tensor(&b, ROLE_INPUT, type, "A", 2, M, K);
    Tensor *B = program_tensor(&b, ROLE_INPUT, type, "B", 2, K, N);
    Tensor *C = program_tensor(&b, ROLE_OUTPUT, type, "C", 2, M, N);
    A->dim_names[0] = "M", A->dim_names[1] = "K", B->dim_names[0] = "K", B->dim_names[1] = "N";
    add_product(&b, type, C, NULL, M, N, K, A, B);
    return program_end(&b);
}

Program *program_accumulate(Arena *arena, ElementType type, int64_t m, int64_t n, int64_t k) {
    ProgramBuilder b = program_begin(arena, "accumulate");
    Expr *M = program_size(&b, "M", m), *K = program_size(&b, "K", k), *N = program_size(&b, "N", n);
    Tensor *A = program_tensor(&b, ROLE_INPUT, type, "A", 2, M, K);
    Tensor *B = program_tensor(&b, ROLE_INPUT, type, "B", 2, K, N);
    Tensor *C = program_tensor(&b, ROLE_OUTPUT, type, "C", 2, M, N);
    Tensor *before = program_tensor(&b, ROLE_INITIAL, type, "C.initial", 2, M, N);
    before->buffer = C;
    Tensor *copy = program_tensor(&b, ROLE_TEMPORARY, type, "C[0]", 2, M, N);
    Var *i = program_index(&b, "i", M, false), *j = program_index(&b, "j", N, false);
    program_stage(&b, copy, COMBINE_NONE, NULL, program_read(&b, before, NULL, var(&b, i), var(&b, j)), 2, 0, i, j);
    Expr *zeros[2] = {expr_int(arena, 0), expr_int(arena, 0)};
    add_product(&b, type, C, expr_read(arena, copy, zeros, NULL), M, N, K, A, B);
    return program_end(&b);
}

Program *program_transpose(Arena *arena, ElementType type, int64_t m, int64_t n) {
    ProgramBuilder b = program_begin(arena, "transpose");
    Expr *M = program_size(&b, "M", m), *N = program_size(&b, "N", n);
    Tensor *X = program_tensor(&b, ROLE_INPUT, type, "X", 2, M, N);
    Tensor *Y = program_tensor(&b, ROLE_OUTPUT, type, "Y", 2, N, M);
    Var *i = program_index(&b, "i", N, false), *j = program_index(&b, "j", M, false);
    program_stage(&b, Y, COMBINE_NONE, NULL, program_read(&b, X, NULL, var(&b, j), var(&b, i)), 2, 0, i, j);
    return program_end(&b);
}

Program *program_row_sum(Arena *arena, ElementType type, int64_t m, int64_t n) {
    ProgramBuilder b = program_begin(arena, "row_sum");
    Expr *M = program_size(&b, "M", m), *N = program_size(&b, "N", n);
    Tensor *X = program_tensor(&b, ROLE_INPUT, type, "X", 2, M, N);
    Tensor *S = program_tensor(&b, ROLE_OUTPUT, type, "S", 1, M);
    Var *i = program_index(&b, "i", M, false), *j = program_index(&b, "r_j", N, true);
    program_stage(&b, S, COMBINE_ADD, NULL, program_read(&b, X, NULL, var(&b, i), var(&b, j)), 1, 1, i, j);
    return program_end(&b);
}

Program *program_softmax(Arena *arena, int64_t n_size, int64_t d_size) {
    ProgramBuilder b = program_begin(arena, "softmax");
    Expr *N = program_size(&b, "N", n_size), *D = program_size(&b, "D", d_size);
    Tensor *X = program_tensor(&b, ROLE_INPUT, TYPE_FLOAT, "X", 2, N, D);
    Tensor *Y = program_tensor(&b, ROLE_OUTPUT, TYPE_FLOAT, "Y", 2, N, D);
    Tensor *top = program_tensor(&b, ROLE_TEMPORARY, TYPE_FLOAT, "top", 1, N);
    Tensor *e = program_tensor(&b, ROLE_TEMPORARY, TYPE_FLOAT, "e", 2, N, D);
    Tensor *sum = program_tensor(&b, ROLE_TEMPORARY, TYPE_FLOAT, "sum", 1, N);

    Var *n = program_index(&b, "n", N, false), *r = program_index(&b, "r_d", D, true);
    program_stage(&b, top, COMBINE_MAX, NULL, program_read(&b, X, NULL, var(&b, n), var(&b, r)), 1, 1, n, r);

    n = program_index(&b, "n", N, false);
    Var *d = program_index(&b, "d", D, false);
    Expr *difference = expr_binary(arena, OP_SUB, program_read(&b, X, NULL, var(&b, n), var(&b, d)),
                                   program_read(&b, top, NULL, var(&b, n)));
    program_stage(&b, e, COMBINE_NONE, NULL, expr_unary(arena, OP_EXP, difference), 2, 0, n, d);

    n = program_index(&b, "n", N, false), r = program_index(&b, "r_d", D, true);
    program_stage(&b, sum, COMBINE_ADD, NULL, program_read(&b, e, NULL, var(&b, n), var(&b, r)), 1, 1, n, r);

    n = program_index(&b, "n", N, false), d = program_index(&b, "d", D, false);
    Expr *quotient = expr_binary(arena, OP_DIV, program_read(&b, e, NULL, var(&b, n), var(&b, d)),
                                 program_read(&b, sum, NULL, var(&b, n)));
    program_stage(&b, Y, COMBINE_NONE, NULL, quotient, 2, 0, n, d);
    return program_end(&b);
}

Program *program_scores(Arena *arena, int64_t m, int64_t n, int64_t k) {
    ProgramBuilder b = program_begin(arena, "scores");
    Expr *M = program_size(&b, "M", m), *K = program_size(&b, "K", k), *N = program_size(&b, "N", n);
    Tensor *A = program_tensor(&b, ROLE_INPUT, TYPE_FLOAT, "A", 2, M, K);
    Tensor *B = program_tensor(&b, ROLE_INPUT, TYPE_FLOAT, "B", 2, N, K);
    Tensor *Y = program_tensor(&b, ROLE_OUTPUT, TYPE_FLOAT, "Y", 2, M, N);
    Tensor *p = program_tensor(&b, ROLE_TEMPORARY, TYPE_FLOAT, "p", 2, M, N);
    Tensor *top = program_tensor(&b, ROLE_TEMPORARY, TYPE_FLOAT, "top", 1, M);
    Tensor *e = program_tensor(&b, ROLE_TEMPORARY, TYPE_FLOAT, "e", 2, M, N);
    Tensor *sum = program_tensor(&b, ROLE_TEMPORARY, TYPE_FLOAT, "sum", 1, M);

    Var *i = program_index(&b, "i", M, false), *j = program_index(&b, "j", N, false);
    Var *r = program_index(&b, "r_k", K, true);
    Expr *left = program_read(&b, A, NULL, var(&b, i), var(&b, r));
    Expr *right = program_read(&b, B, NULL, var(&b, j), var(&b, r));
    program_stage(&b, p, COMBINE_ADD, NULL, expr_binary(arena, OP_MUL, left, right), 2, 1, i, j, r);

    i = program_index(&b, "i", M, false), r = program_index(&b, "r_j", N, true);
    program_stage(&b, top, COMBINE_MAX, NULL, program_read(&b, p, NULL, var(&b, i), var(&b, r)), 1, 1, i, r);

    i = program_index(&b, "i", M, false), j = program_index(&b, "j", N, false);
    Expr *difference = expr_binary(arena, OP_SUB, program_read(&b, p, NULL, var(&b, i), var(&b, j)),
                                   program_read(&b, top, NULL, var(&b, i)));
    program_stage(&b, e, COMBINE_NONE, NULL, expr_unary(arena, OP_EXP, difference), 2, 0, i, j);

    i = program_index(&b, "i", M, false), r = program_index(&b, "r_j", N, true);
    program_stage(&b, sum, COMBINE_ADD, NULL, program_read(&b, e, NULL, var(&b, i), var(&b, r)), 1, 1, i, r);

    i = program_index(&b, "i", M, false), j = program_index(&b, "j", N, false);
    Expr *quotient = expr_binary(arena, OP_DIV, program_read(&b, e, NULL, var(&b, i), var(&b, j)),
                                 program_read(&b, sum, NULL, var(&b, i)));
    program_stage(&b, Y, COMBINE_NONE, NULL, quotient, 2, 0, i, j);
    return program_end(&b);
}

Program *program_blur(Arena *arena, ElementType type, int64_t n) {
    ProgramBuilder b = program_begin(arena, "blur");
    Expr *N = program_size(&b, "N", n);
    Tensor *X = program_tensor(&b, ROLE_INPUT, type, "X", 1, plus(&b, N, 3));
    Tensor *B = program_tensor(&b, ROLE_OUTPUT, type, "B", 1, N);
    Tensor *a = program_tensor(&b, ROLE_TEMPORARY, type, "a", 1, plus(&b, N, 2));

    Var *i = program_index(&b, "i", plus(&b, N, 2), false);
    Expr *pair = add(&b, program_read(&b, X, NULL, var(&b, i)), program_read(&b, X, NULL, plus(&b, var(&b, i), 1)));
    program_stage(&b, a, COMBINE_NONE, NULL, pair, 1, 0, i);

    i = program_index(&b, "i", N, false);
    Expr *three = add(&b, program_read(&b, a, NULL, var(&b, i)), program_read(&b, a, NULL, plus(&b, var(&b, i), 1)));
    three = add(&b, three, program_read(&b, a, NULL, plus(&b, var(&b, i), 2)));
    program_stage(&b, B, COMBINE_NONE, NULL, three, 1, 0, i);
    return program_end(&b);
}

Program *program_embed(Arena *arena, int64_t v_size, int64_t d_size, int64_t b_size, int64_t l_size) {
    ProgramBuilder b = program_begin(arena, "embed");
    Expr *V = program_size(&b, "V", v_size), *D = program_size(&b, "D", d_size);
    Expr *B = program_size(&b, "B", b_size), *L = program_size(&b, "L", l_size);
    Tensor *table = program_tensor(&b, ROLE_INPUT, TYPE_FLOAT, "table", 2, V, D);
    Tensor *ids = program_tensor(&b, ROLE_INPUT, TYPE_INT32, "ids", 2, B, L);
    Tensor *O = program_tensor(&b, ROLE_OUTPUT, TYPE_FLOAT, "O", 3, B, L, D);
    Var *i = program_index(&b, "b", B, false), *l = program_index(&b, "l", L, false);
    Var *d = program_index(&b, "d", D, false);
    Expr *id = expr_cast(arena, TYPE_INT64, program_read(&b, ids, NULL, var(&b, i), var(&b, l)));
    program_stage(&b, O, COMBINE_NONE, NULL, program_read(&b, table, NULL, id, var(&b, d)), 3, 0, i, l, d);

    Program *program = program_end(&b);
    Requirement *requirement = ARENA_NEW(arena, Requirement);
    requirement->condition =
        expr_binary(arena, OP_AND, expr_binary(arena, OP_LE, expr_int(arena, 0), id), expr_binary(arena, OP_LT, id, V));
    requirement->axis_count = 2;
    requirement->axes = O->rank ? program->stages[0]->axes : NULL;
    requirement->text = "0 <= ids(b, l) < V";
    requirement->status = STATUS_BAD_INDEX;
    requirement->after = -1;
    program->requirement_count = 1;
    program->requirements = requirement;
    return program;
}

/* S*i + D*r - P */
static Expr *conv_index(ProgramBuilder *b, ConvShape s, const Var *i, const Var *r) {
    return plus(b, add(b, times(b, s.stride, var(b, i)), times(b, s.dilation, var(b, r))), -s.pad);
}

/* (size + 2*P - D*(kernel - 1) - 1) / S + 1 */
static Expr *conv_extent(ProgramBuilder *b, ConvShape s, Expr *size, Expr *kernel) {
    Expr *reach = times(b, s.dilation, plus(b, kernel, -1));
    Expr *steps = plus(b, expr_binary(b->arena, OP_SUB, plus(b, size, 2 * s.pad), reach), -1);
    return plus(b, expr_binary(b->arena, OP_DIV, steps, expr_int(b->arena, s.stride)), 1);
}

/* The convolution alone, into an output O or, for a chain, a temporary O[0]; *dims gets the output's extents. */
static Tensor *add_convolution(ProgramBuilder *b, ElementType type, ConvShape s, bool chain, Expr *dims[4],
                               Tensor **bias) {
    Expr *N = program_size(b, "N", s.n), *C = program_size(b, "C", s.c);
    Expr *H = program_size(b, "H", s.h), *W = program_size(b, "W", s.w), *M = program_size(b, "M", s.m);
    Expr *KH = program_size(b, "KH", s.kh), *KW = program_size(b, "KW", s.kw);
    Expr *OH = conv_extent(b, s, H, KH), *OW = conv_extent(b, s, W, KW);
    Tensor *I = program_tensor(b, ROLE_INPUT, type, "I", 4, N, C, H, W);
    Tensor *F = program_tensor(b, ROLE_INPUT, type, "F", 4, M, C, KH, KW);
    static const char *const input_names[] = {"N", "C", "H", "W"}, *const filter_names[] = {"M", "C", "KH", "KW"};
    memcpy(I->dim_names, input_names, sizeof input_names);
    memcpy(F->dim_names, filter_names, sizeof filter_names);
    if (chain)
        *bias = program_tensor(b, ROLE_INPUT, type, "b", 1, M);
    Tensor *O = program_tensor(b, chain ? ROLE_TEMPORARY : ROLE_OUTPUT, type, chain ? "O[0]" : "O", 4, N, M, OH, OW);

    Var *n = program_index(b, "n", N, false), *m = program_index(b, "m", M, false);
    Var *h = program_index(b, "h", OH, false), *w = program_index(b, "w", OW, false);
    Var *c = program_index(b, "r_c", C, true), *kh = program_index(b, "r_kh", KH, true);
    Var *kw = program_index(b, "r_kw", KW, true);
    Expr *zero = s.pad > 0 ? expr_constant(b->arena, type, 0) : NULL;
    Expr *pixel = program_read(b, I, zero, var(b, n), var(b, c), conv_index(b, s, h, kh), conv_index(b, s, w, kw));
    Expr *weight = program_read(b, F, NULL, var(b, m), var(b, c), var(b, kh), var(b, kw));
    program_stage(b, O, COMBINE_ADD, NULL, mul(b, pixel, weight), 4, 3, n, m, h, w, c, kh, kw);
    memcpy(dims, (Expr *[]){N, M, OH, OW}, 4 * sizeof *dims);
    return O;
}

Program *program_conv2d(Arena *arena, ElementType type, ConvShape shape) {
    ProgramBuilder b = program_begin(arena, "conv2d");
    Expr *dims[4];
    add_convolution(&b, type, shape, false, dims, NULL);
    return program_end(&b);
}

Program *program_conv_chain(Arena *arena, ElementType type, ConvShape shape) {
    ProgramBuilder b = program_begin(arena, "conv_bias_relu");
    Expr *dims[4];
    Tensor *bias = NULL;
    Tensor *O0 = add_convolution(&b, type, shape, true, dims, &bias);
    Tensor *O1 = program_tensor(&b, ROLE_TEMPORARY, type, "O[1]", 4, dims[0], dims[1], dims[2], dims[3]);
    Tensor *O = program_tensor(&b, ROLE_OUTPUT, type, "O", 4, dims[0], dims[1], dims[2], dims[3]);
    Tensor *from[] = {O0, O1}, *to[] = {O1, O};
    for (int step = 0; step < 2; step++) {
        Var *n = program_index(&b, "n", dims[0], false), *m = program_index(&b, "m", dims[1], false);
        Var *h = program_index(&b, "h", dims[2], false), *w = program_index(&b, "w", dims[3], false);
        Expr *before = program_read(&b, from[step], NULL, var(&b, n), var(&b, m), var(&b, h), var(&b, w));
        Expr *value = step == 0 ? add(&b, before, program_read(&b, bias, NULL, var(&b, m)))
                                : expr_binary(arena, OP_MAX, before, expr_constant(arena, type, 0));
        program_stage(&b, to[step], COMBINE_NONE, NULL, value, 4, 0, n, m, h, w);
    }
    return program_end(&b);
}
