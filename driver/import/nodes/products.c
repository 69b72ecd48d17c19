/* products.c - products of matrices. */
#include "driver/import/nodes/nodes.h"
#include <string.h>

/* --- of two matrices, with a bias --------------------------------------------------------------------------------- */

typedef struct Gemm {
    Operand *a, *b, *bias;
    bool a_transposed, b_transposed;
    double alpha, beta;
    Size shape[2];
} Gemm;

static Gemm gemm_of(Import *import) {
    Gemm g = {.a = input(import, 0), .b = input(import, 1), .bias = input_or_none(import, 2)};
    g.a_transposed = attribute_integer(import, "transA", 0);
    g.b_transposed = attribute_integer(import, "transB", 0);
    g.alpha = attribute_real(import, "alpha", 1);
    g.beta = attribute_real(import, "beta", 1);
    if (g.a->rank != 2 || g.b->rank != 2)
        refuse_node(import, "its matrices have %d and %d dimensions", g.a->rank, g.b->rank);
    else if (!sizes_equal(g.a->shape[!g.a_transposed], g.b->shape[g.b_transposed]))
        refuse_node(import, "its matrices do not fit each other");
    else {
        g.shape[0] = g.a->shape[g.a_transposed];
        g.shape[1] = g.b->shape[!g.b_transposed];
    }
    return g;
}

static bool is_dense(const Gemm *g) {
    bool bias = g->bias && g->bias->rank == 1 && sizes_equal(g->bias->shape[0], g->shape[1]);
    return bias && !g->a_transposed && g->b_transposed && g->alpha == 1 && g->beta == 1 && g->a->type == TYPE_FLOAT;
}

static const char *scaled(Import *import, double factor, const char *value) {
    if (factor == 1)
        return value;
    return format(import, "%s * %s", number_text(import, (Value){.type = TYPE_FLOAT, .real = factor}), value);
}

void print_gemm(Import *import) {
    static const char *const defs[2][2] = {{"matmul", "matmul_nt"}, {"matmul_tn", NULL}};
    Gemm g = gemm_of(import);
    if (import->failed)
        return;
    const char *a = name_of(import, g.a), *b = name_of(import, g.b), **ij = index_names(import, 2);
    if (is_dense(&g)) {
        const char *bias = name_of(import, g.bias);
        statement(import, "%s = dense(%s, %s, %s)", output(import, 0, g.a->type, 2, g.shape)->name, a, b, bias);
        return;
    }
    const char *def = g.a->type == TYPE_FLOAT ? defs[g.a_transposed][g.b_transposed] : NULL;
    const char *bias = g.bias ? read_broadcast(import, g.bias, 2, g.shape, ij) : NULL;
    Operand *result = output(import, 0, g.a->type, 2, g.shape);
    bool plain = !bias && g.alpha == 1;
    const char *product = plain ? result->name : temporary(import, result, "product");
    if (def)
        statement(import, "%s = %s(%s, %s)", product, def, a, b);
    else
        statement(import, "%s(i, j) +=! %s(%s) * %s(%s)", product, a, g.a_transposed ? "r_k, i" : "i, r_k", b,
                  g.b_transposed ? "j, r_k" : "r_k, j");
    if (plain)
        return;
    const char *value = scaled(import, g.alpha, format(import, "%s(i, j)", product));
    if (bias)
        value = format(import, "%s + %s", value, scaled(import, g.beta, bias));
    statement(import, "%s(i, j) = %s", result->name,
              g.a->type == TYPE_FLOAT ? value : converted(import, g.a->type, value));
}

/* --- of many matrices --------------------------------------------------------------------------------------------- */

typedef struct Product {
    int rank; /* of the result, if both had two dimensions or more */
    Size *shape;
    const char **indices, **a, **b; /* of the result and of both operands */
    bool vector_a, vector_b;
} Product;

/* The shape that an operand has for others: a vector is one row, or one column. */
static Operand as_matrix(Import *import, const Operand *x, bool row) {
    Operand matrix = *x;
    if (x->rank == 1) {
        matrix.rank = 2;
        matrix.shape = new_shape(import, 2);
        matrix.shape[row] = x->shape[0];
        matrix.shape[!row] = size_number(1);
    }
    return matrix;
}

static const char **operand_indices(Import *import, const Operand *x, const Product *p, bool first) {
    const char **own = ARENA_ARRAY(import->arena, const char *, x->rank + 1);
    for (int d = 0; d + 2 < x->rank; d++) {
        int to = p->rank - x->rank + d;
        own[d] = size_is(x->shape[d], 1) && !size_is(p->shape[to], 1) ? "0" : p->indices[to];
    }
    if (x->rank == 1)
        own[0] = "r_k";
    else {
        own[x->rank - 2] = first ? p->indices[p->rank - 2] : "r_k";
        own[x->rank - 1] = first ? "r_k" : p->indices[p->rank - 1];
    }
    return own;
}

static Product product_of(Import *import, const Operand *a, const Operand *b) {
    Product p = {.rank = 0, .vector_a = a->rank == 1, .vector_b = b->rank == 1};
    Operand left = as_matrix(import, a, true), right = as_matrix(import, b, false);
    if (!a->rank || !b->rank) {
        refuse_node(import, "a number is no matrix");
        return p;
    }
    if (!sizes_equal(left.shape[left.rank - 1], right.shape[right.rank - 2]))
        refuse_node(import, "its matrices do not fit each other");
    Operand outer_a = left, outer_b = right;
    outer_a.rank -= 2;
    outer_b.rank -= 2;
    p.shape = new_shape(import, 0);
    broadcast(import, &outer_a, &p.rank, &p.shape);
    broadcast(import, &outer_b, &p.rank, &p.shape);
    Size *shape = new_shape(import, p.rank + 2);
    memcpy(shape, p.shape, sizeof *shape * (size_t)p.rank);
    shape[p.rank] = left.shape[left.rank - 2];
    shape[p.rank + 1] = right.shape[right.rank - 1];
    p.shape = shape;
    p.rank += 2;
    p.indices = index_names(import, p.rank);
    p.a = operand_indices(import, a, &p, true);
    p.b = operand_indices(import, b, &p, false);
    return p;
}

/* Takes the dimensions away that a vector has not. */
static void drop_vectors(Product *p) {
    int kept = p->rank - 2;
    for (int d = 0; d < 2; d++)
        if (d ? !p->vector_b : !p->vector_a) {
            p->shape[kept] = p->shape[p->rank - 2 + d];
            p->indices[kept++] = p->indices[p->rank - 2 + d];
        }
    p->rank = kept;
}

/* Each index of the result is one of an operand's, which gives it its range. */
static void print_product_of(Import *import, const Operand *a, const Operand *b, const char *to, Product *p) {
    const char *left = element(import, name_of(import, a), a->rank, p->a);
    const char *right = element(import, name_of(import, b), b->rank, p->b);
    statement(import, "%s +=! %s * %s", element(import, to, p->rank, p->indices), left, right);
}

void print_product(Import *import) {
    Operand *a = input(import, 0), *b = input(import, 1);
    Product p = product_of(import, a, b);
    if (import->failed)
        return;
    bool matrices = a->rank == 2 && b->rank == 2 && a->type == TYPE_FLOAT;
    const char *left = name_of(import, a), *right = name_of(import, b);
    bool narrow = type_is_float(a->type) && element_info[a->type].bytes < 4;
    drop_vectors(&p);
    Operand *result = output(import, 0, a->type, p.rank, p.shape);
    if (matrices)
        statement(import, "%s = matmul(%s, %s)", result->name, left, right);
    else if (narrow) {
        const char *sum = temporary(import, result, "sum"), *total = element(import, sum, p.rank, p.indices);
        statement(import, "%s +=! float(%s) * float(%s)", total, element(import, left, a->rank, p.a),
                  element(import, right, b->rank, p.b));
        statement(import, "%s = %s", element(import, result->name, p.rank, p.indices),
                  converted(import, a->type, total));
    } else
        print_product_of(import, a, b, result->name, &p);
}

/* --- of integers -------------------------------------------------------------------------------------------------- */

void print_integer_product(Import *import) {
    Operand *a = input(import, 0), *b = input(import, 1);
    Product p = product_of(import, a, b);
    if (import->failed)
        return;
    a = without_zero(import, a, input_or_none(import, 2), a->rank > 1 ? a->rank - 2 : 0);
    b = without_zero(import, b, input_or_none(import, 3), b->rank - 1);
    drop_vectors(&p);
    print_product_of(import, a, b, output(import, 0, TYPE_INT32, p.rank, p.shape)->name, &p);
}

void print_quantized_product(Import *import) {
    Operand *a = input(import, 0), *b = input(import, 3);
    Product p = product_of(import, a, b);
    if (import->failed)
        return;
    a = without_zero(import, a, input(import, 2), a->rank > 1 ? a->rank - 2 : 0);
    b = without_zero(import, b, input(import, 5), b->rank - 1);
    drop_vectors(&p);
    const char *sum = fresh_name(import, format(import, "%s_sum", import->node->outputs.items[0]));
    print_product_of(import, a, b, sum, &p);
    print_requantized(import, element(import, sum, p.rank, p.indices), 1, 4, 6, p.rank, p.shape, p.rank - 1, p.indices);
}

/* --- by an equation ----------------------------------------------------------------------------------------------- */

/* Sizes by letters. */
typedef struct Equation {
    Size sizes[128];
    bool seen[128];
} Equation;

static const char **letter_indices(Import *import, const char *letters, int rank) {
    const char **indices = ARENA_ARRAY(import->arena, const char *, rank + 1);
    for (int d = 0; d < rank; d++)
        indices[d] = format(import, "i_%c", letters[d]);
    return indices;
}

static const char *letters_only(Import *import, const char *text, size_t length) {
    Text letters = {.arena = import->arena};
    text_add(&letters, "%s", "");
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ')
            text_add_bytes(&letters, text + i, 1);
    return letters.text;
}

static const char *einsum_factor(Import *import, Equation *equation, const char *letters, const Operand *x) {
    if ((int)strlen(letters) != x->rank) {
        refuse_node(import, "'%s' stands for a tensor of %d dimensions", letters, x->rank);
        return "";
    }
    for (int d = 0; d < x->rank; d++) {
        unsigned char c = (unsigned char)letters[d];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            refuse_node(import, "'%c' in its equation is not known", c);
        else if (equation->seen[c] && !sizes_equal(equation->sizes[c], x->shape[d]))
            refuse_node(import, "'%c' in its equation has two sizes", c);
        else {
            equation->sizes[c] = x->shape[d];
            equation->seen[c] = true;
        }
    }
    return element(import, name_of(import, x), x->rank, letter_indices(import, letters, x->rank));
}

/* What an equation without a result makes: the letters that stand there once, in their order. */
static const char *letters_once(Import *import, const char *inputs) {
    Text text = {.arena = import->arena};
    text_add(&text, "%s", "");
    for (char c = 'A'; c <= 'z'; c++)
        if (strchr(inputs, c) && !strchr(strchr(inputs, c) + 1, c))
            text_add_bytes(&text, &c, 1);
    return text.text;
}

void print_einsum(Import *import) {
    Equation *equation = ARENA_NEW(import->arena, Equation);
    const char *whole = attribute_text(import, "equation", ""), *arrow = strstr(whole, "->");
    const char *inputs = letters_only(import, whole, arrow ? (size_t)(arrow - whole) : strlen(whole));
    const char *letters = arrow ? letters_only(import, arrow + 2, strlen(arrow + 2)) : letters_once(import, inputs);
    const char **factors = ARENA_ARRAY(import->arena, const char *, import->node->inputs.count), *at = inputs;
    for (int i = 0; i < import->node->inputs.count; i++) {
        size_t length = strcspn(at, ",");
        factors[i] = einsum_factor(import, equation, arena_strndup(import->arena, at, length), input(import, i));
        at += length + (at[length] == ',');
    }
    int rank = (int)strlen(letters);
    Size *shape = new_shape(import, rank);
    for (int d = 0; d < rank; d++) {
        unsigned char c = (unsigned char)letters[d];
        if (c > 127 || !equation->seen[c])
            refuse_node(import, "'%c' in the result of its equation is not known", c);
        else
            shape[d] = equation->sizes[c];
    }
    if (import->failed)
        return;
    bool sums = false;
    for (const char *letter = inputs; *letter; letter++)
        sums = sums || (*letter != ',' && !strchr(letters, *letter));
    Operand *result = output(import, 0, input(import, 0)->type, rank, shape);
    statement(import, "%s %s %s", element(import, result->name, rank, letter_indices(import, letters, rank)),
              sums ? "+=!" : "=", joined(import, factors, import->node->inputs.count, " * "));
}
