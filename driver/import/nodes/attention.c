/* attention.c - the attention of one node, and positions as angles. Heads are (batch, head, position, feature) inside:
 * n, c, h, w. What has three dimensions has its heads one after another in the last one.
 */
#include "driver/import/nodes/nodes.h"
#include <math.h>
#include <string.h>

static const char *const heads_indices[] = {"n", "c", "h", "w"};

/* The shape of a tensor as heads. */
static void heads_shape(Import *import, const Operand *x, int64_t heads, Size *shape) {
    if (x->rank == 4) {
        memcpy(shape, x->shape, 4 * sizeof *shape);
        return;
    }
    shape[0] = x->rank == 3 ? x->shape[0] : size_number(1);
    shape[1] = size_number(heads);
    shape[2] = x->rank == 3 ? x->shape[1] : size_number(1);
    int64_t width = x->rank == 3 ? known_size(import, x->shape[2]) : 0;
    shape[3] = size_number(heads > 0 ? width / heads : 0);
    if (x->rank != 3 || heads < 1 || width % heads)
        refuse_node(import, "a tensor of %d dimensions has no %lld heads", x->rank, (long long)heads);
}

/* An element of a tensor as heads. */
static const char *heads_element(Import *import, const Operand *x, const Size *shape, const char *const *at) {
    if (x->rank == 4)
        return element(import, name_of(import, x), 4, at);
    const char *place = format(import, "%s * %s + %s", size_text(import, shape[3]), at[1], at[3]);
    return element(import, name_of(import, x), 3, (const char *const[]){at[0], at[2], place});
}

/* A tensor of heads in the form of the node's output. */
static void print_heads_output(Import *import, const char *heads, ElementType type, const Size *shape, bool rows) {
    Size width = size_product(import, shape[1], shape[3]);
    const Size row_shape[] = {shape[0], shape[2], width};
    Operand *result = rows ? output(import, 0, type, 3, row_shape) : output(import, 0, type, 4, shape);
    const char *each = size_text(import, shape[3]);
    if (!rows)
        statement(import, "%s(n, c, h, w) = %s", result->name,
                  converted(import, type, format(import, "%s(n, c, h, w)", heads)));
    else
        statement(import, "%s(i, j, k) = %s where k in 0:%s", result->name,
                  converted(import, type, format(import, "%s(i, k / %s, j, k %% %s)", heads, each, each)),
                  size_text(import, width));
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

typedef struct Attention {
    Operand *q, *k, *v, *mask, *past_k, *past_v, *lengths;
    Size q_shape[4], k_shape[4], v_shape[4]; /* of what is new */
    Size keys[4], values[4];                 /* with what was before */
    int64_t shared;                          /* so many heads of queries have the same keys */
    const char *base;
} Attention;

static void join_past(Import *import, const Operand *past, const Size *now, Size *all) {
    memcpy(all, now, 4 * sizeof *all);
    if (!past)
        return;
    if (past->rank != 4)
        refuse_node(import, "its past has %d dimensions", past->rank);
    else if (size_known(past->shape[2]))
        all[2] = size_sum(import, now[2], past->shape[2].factor);
    else
        all[2] = size_symbol(format(import, "(%s + %s)", size_text(import, past->shape[2]), size_text(import, now[2])));
}

static Attention attention_of(Import *import) {
    Attention a = {.q = input(import, 0),
                   .k = input(import, 1),
                   .v = input(import, 2),
                   .mask = input_or_none(import, 3),
                   .past_k = input_or_none(import, 4),
                   .past_v = input_or_none(import, 5),
                   .lengths = input_or_none(import, 6),
                   .base = import->node->outputs.items[0]};
    int64_t heads = attribute_integer(import, "q_num_heads", 0),
            key_heads = attribute_integer(import, "kv_num_heads", 0);
    heads_shape(import, a.q, heads, a.q_shape);
    heads_shape(import, a.k, key_heads, a.k_shape);
    heads_shape(import, a.v, key_heads, a.v_shape);
    heads = known_size(import, a.q_shape[1]);
    key_heads = known_size(import, a.k_shape[1]);
    if (key_heads < 1 || heads % key_heads || !sizes_equal(a.k_shape[1], a.v_shape[1]))
        refuse_node(import, "%lld heads of queries do not share %lld of keys", (long long)heads, (long long)key_heads);
    else
        a.shared = heads / key_heads;
    if (!a.past_k != !a.past_v)
        refuse_node(import, "it has a past of keys or values alone");
    if (a.mask && a.mask->rank > 4)
        refuse_node(import, "its mask has %d dimensions", a.mask->rank);
    join_past(import, a.past_k, a.k_shape, a.keys);
    join_past(import, a.past_v, a.v_shape, a.values);
    return a;
}

/* Keys or values with those of the past before them, as heads; they may be an output of the node. */
static const char *print_present(Import *import, const Operand *x, const Operand *past, const Size *shape,
                                 const Size *all, int number) {
    if (!past && !has_output(import, number) && x->rank == 4)
        return name_of(import, x);
    const char *name = has_output(import, number)
                           ? output(import, number, x->type, 4, all)->name
                           : fresh_name(import, format(import, "%s_heads", x->name ? x->name : x->onnx));
    const char *at[] = {"n", "c", "h", "w"}, *value = heads_element(import, x, shape, at);
    if (past) {
        const char *before = size_text(import, past->shape[2]);
        at[2] = format(import, "h - %s", before);
        value = format(import, "h < %s ? %s(n, c, h, w) : %s", before, name_of(import, past),
                       heads_element(import, x, shape, at));
    }
    statement(import, "%s(n, c, h, w) = %s%s", name, value, where(import, 4, heads_indices, all, NULL));
    return name;
}

/* The position of a query among the keys, less its number. */
static const char *query_offset(Import *import, const Attention *a) {
    if (a->past_k)
        return format(import, " + %s", size_text(import, a->past_k->shape[2]));
    if (a->lengths)
        return format(import, " + %s(n) - %s", name_of(import, a->lengths), size_text(import, a->q_shape[2]));
    return "";
}

/* Under which conditions a key counts; "" if each does. */
static const char *key_conditions(Import *import, const Attention *a, const char *mask) {
    const char *words[5], *offset = query_offset(import, a);
    int64_t left = attribute_integer(import, "left_window_size", -1);
    int64_t right = attribute_integer(import, "right_window_size", -1);
    int count = 0;
    if (a->mask && a->mask->type == TYPE_BOOL)
        words[count++] = mask;
    if (attribute_integer(import, "is_causal", 0))
        words[count++] = format(import, "w <= h%s", offset);
    if (left >= 0)
        words[count++] = format(import, "h%s - w <= %lld", offset, (long long)left);
    if (right >= 0)
        words[count++] = format(import, "w - (h%s) <= %lld", offset, (long long)right);
    if (a->lengths)
        words[count++] = format(import, "w < %s(n)", name_of(import, a->lengths));
    return joined(import, words, count, " && ");
}

/* An element of the mask, or what stands beyond its end; NULL: there is no mask. */
static const char *mask_element(Import *import, const Attention *a) {
    const Size shape[] = {a->q_shape[0], a->q_shape[1], a->q_shape[2], a->keys[2]};
    if (!a->mask)
        return NULL;
    const char *e = read_broadcast(import, a->mask, 4, shape, heads_indices);
    Size last = a->mask->rank ? a->mask->shape[a->mask->rank - 1] : size_number(1);
    if (size_is(last, 1) || sizes_equal(last, a->keys[2]))
        return e;
    bool truth = a->mask->type == TYPE_BOOL;
    return format(import, "(%s else %s)", e, truth ? "(0 != 0)" : converted(import, a->mask->type, "-1.0 / 0.0"));
}

/* The node's output with the products, if it has one: they are those of a step of the computation. */
static void print_products_output(Import *import, const Attention *a, const char *const *steps) {
    int64_t mode = attribute_integer(import, "qk_matmul_output_mode", 0);
    const Size shape[] = {a->q_shape[0], a->q_shape[1], a->q_shape[2], a->keys[2]};
    if (!has_output(import, 3))
        return;
    if (mode < 0 || mode > 3) {
        refuse_node(import, "its attribute 'qk_matmul_output_mode' is %lld", (long long)mode);
        return;
    }
    Operand *result = output(import, 3, a->q->type, 4, shape);
    const char *value = format(import, "%s(n, c, h, w)", steps[mode]);
    statement(import, "%s(n, c, h, w) = %s", result->name, converted(import, a->q->type, value));
}

/* A step of the computation; the name of its tensor. */
static const char *print_step(Import *import, const Attention *a, const char *what, const char *value,
                              const char *ranges) {
    const char *name = fresh_name(import, format(import, "%s_%s", a->base, what));
    statement(import, "%s(n, c, h, w) = %s%s", name, value, ranges);
    return name;
}

/* The scores of keys, scaled, with the mask: names of the tensors by the mode of the node's last output. */
static void print_scores(Import *import, const Attention *a, const char *keys, const char **steps) {
    const Size shape[] = {a->q_shape[0], a->q_shape[1], a->q_shape[2], a->keys[2]};
    const char *ranges = where(import, 4, heads_indices, shape, NULL),
               *score = fresh_name(import, format(import, "%s_score", a->base));
    const char *const at[] = {"n", "c", "h", "r_k"};
    const char *head = a->shared == 1 ? "c" : format(import, "c / %lld", (long long)a->shared);
    double width = (double)known_size(import, a->q_shape[3]), scale = attribute_real(import, "scale", 1 / sqrt(width));
    double cap = attribute_real(import, "softcap", 0);
    statement(import, "%s(n, c, h, w) +=! float(%s) * float(%s(n, %s, w, r_k))%s", score,
              heads_element(import, a->q, a->q_shape, at), keys, head, ranges);
    const char *factor = number_text(import, (Value){.type = TYPE_FLOAT, .real = scale});
    steps[0] = steps[1] = print_step(import, a, "scaled", format(import, "%s(n, c, h, w) * %s", score, factor), "");
    if (cap > 0) {
        const char *most = number_text(import, (Value){.type = TYPE_FLOAT, .real = cap});
        steps[0] = steps[1] =
            print_step(import, a, "capped", format(import, "%s * tanh(%s(n, c, h, w) / %s)", most, steps[0], most), "");
    }
    const char *mask = mask_element(import, a), *conditions = key_conditions(import, a, mask);
    const char *value = format(import, "%s(n, c, h, w)", steps[1]);
    if (mask && a->mask->type != TYPE_BOOL)
        value = format(import, "%s + float(%s)", value, mask);
    if (*conditions)
        value = format(import, "%s ? %s : (-1.0 / 0.0)", conditions, value);
    steps[2] = mask || *conditions ? print_step(import, a, "masked", value, ranges) : steps[1];
}

/* A query without keys has the weight 0 for each. */
static void print_weights(Import *import, const Attention *a, const char **steps) {
    const char *top = fresh_name(import, format(import, "%s_top", a->base)), *s = steps[2];
    const char *total = fresh_name(import, format(import, "%s_total", a->base));
    statement(import, "%s(n, c, h) max=! %s(n, c, h, r_w)", top, s);
    const char *e = print_step(
        import, a, "e",
        format(import, "%s(n, c, h, w) == -1.0 / 0.0 ? 0.0 : exp(%s(n, c, h, w) - %s(n, c, h))", s, s, top), "");
    statement(import, "%s(n, c, h) +=! %s(n, c, h, r_w)", total, e);
    steps[3] = print_step(import, a, "weights",
                          format(import, "%s(n, c, h) == 0 ? 0.0 : %s(n, c, h, w) / %s(n, c, h)", total, e, total), "");
}

void print_attention(Import *import) {
    Attention a = attention_of(import);
    const char *steps[4];
    if (import->failed)
        return;
    const char *keys = print_present(import, a.k, a.past_k, a.k_shape, a.keys, 1);
    const char *values = print_present(import, a.v, a.past_v, a.v_shape, a.values, 2);
    print_scores(import, &a, keys, steps);
    print_weights(import, &a, steps);
    print_products_output(import, &a, steps);
    const Size shape[] = {a.q_shape[0], a.q_shape[1], a.q_shape[2], a.values[3]};
    const char *mix = fresh_name(import, format(import, "%s_mix", a.base));
    const char *head = a.shared == 1 ? "c" : format(import, "c / %lld", (long long)a.shared);
    statement(import, "%s(n, c, h, w) +=! %s(n, c, h, r_k) * float(%s(n, %s, r_k, w))%s", mix, steps[3], values, head,
              where(import, 4, heads_indices, shape, NULL));
    print_heads_output(import, mix, a.q->type, shape, a.q->rank == 3);
}

/* --- positions as angles ------------------------------------------------------------------------------------------ */

typedef struct Rotation {
    Operand *cosines, *sines, *positions;
    const char *x; /* as heads */
    int64_t rotated;
    bool interleaved;
} Rotation;

static const char *angle(Import *import, const Rotation *r, const Operand *table, const char *place) {
    const char *name = name_of(import, table);
    if (!r->positions)
        return format(import, "%s(n, h, %s)", name, place);
    return format(import, "%s(%s(n, h), %s)", name, name_of(import, r->positions), place);
}

/* The first of a pair, rotated, or the second one. */
static const char *rotated_one(Import *import, const Rotation *r, bool first, const char *place, const char *other) {
    const char *cosine = angle(import, r, r->cosines, place), *sine = angle(import, r, r->sines, place);
    return format(import, "%s(n, c, h, w) * %s %c (%s(n, c, h, %s) else 0) * %s", r->x, cosine, first ? '-' : '+', r->x,
                  other, sine);
}

static const char *rotated_value(Import *import, const Rotation *r, const Size *shape) {
    long long half = r->rotated / 2;
    const char *before = format(import, "w - %lld", half);
    const char *first = r->interleaved ? rotated_one(import, r, true, "w / 2", "w + 1")
                                       : rotated_one(import, r, true, "w", format(import, "w + %lld", half));
    const char *second = r->interleaved ? rotated_one(import, r, false, "w / 2", "w - 1")
                                        : rotated_one(import, r, false, before, before);
    const char *is_first = r->interleaved ? "w % 2 == 0" : format(import, "w < %lld", half);
    if (size_is(shape[3], r->rotated))
        return format(import, "%s ? %s : %s", is_first, first, second);
    return format(import, "w >= %lld ? %s(n, c, h, w) : %s ? %s : %s", (long long)r->rotated, r->x, is_first, first,
                  second);
}

void print_rotary_embedding(Import *import) {
    Operand *x = input(import, 0);
    Rotation r = {.cosines = input(import, 1),
                  .sines = input(import, 2),
                  .positions = input_or_none(import, 3),
                  .rotated = attribute_integer(import, "rotary_embedding_dim", 0),
                  .interleaved = attribute_integer(import, "interleaved", 0)};
    Size shape[4];
    heads_shape(import, x, attribute_integer(import, "num_heads", 0), shape);
    int64_t width = known_size(import, shape[3]);
    r.rotated = r.rotated ? r.rotated : width;
    if (r.rotated < 2 || r.rotated % 2 || r.rotated > width || x->type != TYPE_FLOAT)
        refuse_node(import, "%lld features of %lld of the type %s cannot be rotated", (long long)r.rotated,
                    (long long)width, element_info[x->type].spelling);
    if (r.cosines->rank != (r.positions ? 2 : 3) || r.sines->rank != r.cosines->rank)
        refuse_node(import, "its tables have %d dimensions", r.cosines->rank);
    if (import->failed)
        return;
    const char *base = import->node->outputs.items[0], *ranges = where(import, 4, heads_indices, shape, NULL);
    r.x = fresh_name(import, format(import, "%s_heads", base));
    const char *result = fresh_name(import, format(import, "%s_rotated", base));
    statement(import, "%s(n, c, h, w) = %s%s", r.x, heads_element(import, x, shape, heads_indices), ranges);
    statement(import, "%s(n, c, h, w) = %s%s", result, rotated_value(import, &r, shape), ranges);
    print_heads_output(import, result, x->type, shape, x->rank == 3);
}
