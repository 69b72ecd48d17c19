/* order.c - where the elements of a buffer lie: row major, or as its ElementOrder says. */
#include "lang/program.h"

/* --- strides ------------------------------------------------------------------------------------------------------ */

Expr *order_extent(Arena *arena, const Tensor *tensor, int part) {
    const OrderPart *p = &tensor->order->parts[part];
    if (p->modulus != 0)
        return expr_int(arena, p->modulus);
    Expr *extent = tensor->dims[p->dimension];
    if (p->divisor == 1)
        return extent;
    return expr_binary(arena, OP_DIV, expr_binary(arena, OP_ADD, extent, expr_int(arena, p->divisor - 1)),
                       expr_int(arena, p->divisor));
}

static Expr *aligned(Arena *arena, Expr *stride, const OrderPart *part) {
    if (part->align == 0)
        return stride;
    Expr *short_of = expr_binary(arena, OP_SUB, expr_int(arena, part->offset), stride);
    return expr_binary(arena, OP_ADD, stride, expr_binary(arena, OP_MOD, short_of, expr_int(arena, part->align)));
}

Expr *order_offset(Arena *arena, const Tensor *tensor, Expr *const *index) {
    const ElementOrder *order = tensor->order;
    Expr *offset = expr_int(arena, 0), *elements = expr_int(arena, 1);
    for (int i = order->count - 1; i >= 0; i--) {
        const OrderPart *part = &order->parts[i];
        Expr *stride = aligned(arena, elements, part), *at = index[part->dimension];
        at = part->divisor == 1 ? at : expr_binary(arena, OP_DIV, at, expr_int(arena, part->divisor));
        at = part->modulus == 0 ? at : expr_binary(arena, OP_MOD, at, expr_int(arena, part->modulus));
        offset = expr_binary(arena, OP_ADD, expr_binary(arena, OP_MUL, at, stride), offset);
        elements = expr_binary(arena, OP_MUL, stride, order_extent(arena, tensor, i));
    }
    return offset;
}

Expr *tensor_size(Arena *arena, const Tensor *tensor) {
    Expr *elements = expr_int(arena, 1);
    for (int d = 0; !tensor->order && d < tensor->rank; d++)
        elements = expr_binary(arena, OP_MUL, elements, tensor->dims[d]);
    for (int i = tensor->order ? tensor->order->count - 1 : -1; i >= 0; i--) {
        elements = aligned(arena, elements, &tensor->order->parts[i]);
        elements = expr_binary(arena, OP_MUL, elements, order_extent(arena, tensor, i));
    }
    return elements;
}

Expr *tensor_memory(Arena *arena, const Tensor *tensor) {
    return expr_binary(arena, OP_MUL, tensor_size(arena, tensor), expr_int(arena, element_info[tensor->type].bytes));
}

/* --- constant sizes ----------------------------------------------------------------------------------------------- */

static bool constant_extent(const Tensor *tensor, const OrderPart *part, int64_t *extent) {
    if (part->modulus == 0 && !expr_is_int(tensor->dims[part->dimension], extent))
        return false;
    *extent = part->modulus != 0 ? part->modulus : *extent / part->divisor + (*extent % part->divisor != 0);
    return true;
}

int64_t order_padding(const OrderPart *part, int64_t stride) {
    if (part->align == 0)
        return 0;
    int64_t beyond = (stride - part->offset) % part->align;
    return beyond > 0 ? part->align - beyond : -beyond;
}

int64_t order_stride(const Tensor *tensor, int part, int64_t *padding) {
    int64_t elements = 1, extent = 1;
    for (int i = tensor->order->count - 1; i >= 0; i--) {
        const OrderPart *p = &tensor->order->parts[i];
        *padding = order_padding(p, elements);
        if (__builtin_add_overflow(elements, *padding, &elements))
            return -1;
        if (i == part)
            return elements;
        if (!constant_extent(tensor, p, &extent) || __builtin_mul_overflow(elements, extent, &elements))
            return -1;
    }
    return elements;
}

static int64_t row_major_elements(const Tensor *tensor) {
    int64_t elements = 1, extent;
    for (int d = 0; d < tensor->rank; d++)
        if (!expr_is_int(tensor->dims[d], &extent) || __builtin_mul_overflow(elements, extent, &elements))
            return -1;
    return elements;
}

int64_t tensor_elements(const Tensor *tensor) {
    int64_t extent, stride, padding;
    if (!tensor->order)
        return row_major_elements(tensor);
    if (tensor->order->count == 0)
        return 1;
    stride = order_stride(tensor, 0, &padding);
    if (stride < 0 || !constant_extent(tensor, &tensor->order->parts[0], &extent) ||
        __builtin_mul_overflow(stride, extent, &stride))
        return -1;
    return stride;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

void order_print(Text *text, const ElementOrder *order) {
    text_add(text, "(");
    for (int i = 0; i < order->count; i++) {
        const OrderPart *part = &order->parts[i];
        text_add(text, "%sd%d", i ? ", " : "", part->dimension);
        if (part->divisor != 1)
            text_add(text, "/%lld", (long long)part->divisor);
        if (part->modulus != 0)
            text_add(text, "%%%lld", (long long)part->modulus);
        if (part->align != 0)
            text_add(text, " align %lld", (long long)part->align);
        if (part->offset != 0)
            text_add(text, " offset %lld", (long long)part->offset);
    }
    text_add(text, ")");
}
