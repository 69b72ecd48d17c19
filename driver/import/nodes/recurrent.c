/* recurrent.c - LSTM, GRU and RNN as scans, one for each direction. Their gates lie in ONNX's order, one after another
 * in the rows of the weights.
 */
#include "driver/import/nodes/nodes.h"
#include <string.h>

typedef struct Recurrence {
    Operand *x, *wx, *wh, *bias, *lengths, *h0, *c0, *peepholes;
    int gates;
    int64_t width;
    Size steps, batch;
    int directions;
    bool batch_first;
    const char *base; /* of names */
} Recurrence;

/* How an activation is written. */
static const char *activated(Import *import, const char *activation, const char *value) {
    static const char *const rows[][2] = {{"Sigmoid", "sigmoid"}, {"Tanh", "tanh"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i][0], activation))
            return format(import, "%s(%s)", rows[i][1], value);
    if (!strcmp(activation, "Relu"))
        return format(import, "max(%s, 0)", value);
    refuse_node(import, "the activation '%s' is not known", activation);
    return value;
}

/* --- what the node has -------------------------------------------------------------------------------------------- */

static void check_recurrence(Import *import, const Recurrence *r) {
    const char *refused[] = {"activation_alpha", "activation_beta", "activations", "clip"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (attribute(import, refused[i]))
            refuse_node(import, "its attribute '%s' is not known", refused[i]);
    if (attribute_integer(import, "input_forget", 0))
        refuse_node(import, "its attribute 'input_forget' is not known");
    if (r->x->rank != 3 || r->wx->rank != 3 || r->wh->rank != 3)
        refuse_node(import, "its input has %d dimensions, its weights %d and %d", r->x->rank, r->wx->rank, r->wh->rank);
    else if (!size_is(r->wx->shape[0], r->directions) || !size_is(r->wh->shape[0], r->directions) ||
             !size_is(r->wx->shape[1], r->gates * r->width) || !size_is(r->wh->shape[1], r->gates * r->width) ||
             !size_is(r->wh->shape[2], r->width))
        refuse_node(import, "its weights do not fit its hidden size");
    if (r->bias && (r->bias->rank != 2 || !size_is(r->bias->shape[1], 2 * r->gates * r->width)))
        refuse_node(import, "its bias does not fit its hidden size");
    if ((r->h0 && r->h0->rank != 3) || (r->c0 && r->c0->rank != 3))
        refuse_node(import, "its first state has not three dimensions");
}

static bool has_full_lengths(Import *import, const Recurrence *r) {
    const Element *lengths = r->lengths && r->lengths->known ? contents(import, r->lengths) : NULL;
    bool full = !r->lengths || lengths;
    for (int64_t i = 0; full && lengths && i < shape_count(import, r->lengths->shape, r->lengths->rank); i++)
        full = sizes_equal(size_of_element(&lengths[i]), r->steps);
    return full;
}

static Recurrence recurrence_of(Import *import) {
    const char *kind = import->node->kind, *direction = attribute_text(import, "direction", "forward");
    bool lstm = !strcmp(kind, "LSTM");
    Recurrence r = {.x = input(import, 0),
                    .wx = input(import, 1),
                    .wh = input(import, 2),
                    .bias = input_or_none(import, 3),
                    .lengths = input_or_none(import, 4),
                    .h0 = input_or_none(import, 5),
                    .c0 = lstm ? input_or_none(import, 6) : NULL,
                    .peepholes = lstm ? input_or_none(import, 7) : NULL,
                    .gates = lstm                   ? 4
                             : !strcmp(kind, "GRU") ? 3
                                                    : 1,
                    .directions = !strcmp(direction, "bidirectional") ? 2 : 1};
    r.batch_first = attribute_integer(import, "layout", 0);
    r.width = attribute_integer(import, "hidden_size", 0);
    if (r.wh->rank == 3)
        r.width = known_size(import, r.wh->shape[2]);
    if (r.width < 1 || r.width > INT32_MAX / 8)
        refuse_node(import, "its hidden size is %lld", (long long)r.width);
    check_recurrence(import, &r);
    if (!import->failed) {
        r.steps = r.x->shape[r.batch_first];
        r.batch = r.x->shape[!r.batch_first];
        if (!has_full_lengths(import, &r))
            refuse_node(import, "sequences of different lengths are not known");
    }
    for (int i = 0; i < 3; i++)
        if (has_output(import, i))
            r.base = import->node->outputs.items[i];
    r.base = has_output(import, 0) ? import->node->outputs.items[0] : r.base ? r.base : kind;
    return r;
}

/* --- statements --------------------------------------------------------------------------------------------------- */

/* The names of one direction. */
typedef struct Direction {
    const Recurrence *of;
    int number;
    bool backward;
    const char *x, *gates, *state_gates, *h, *c;
} Direction;

/* "(h(t-1, b, r_k) else h0(0, b, r_k))" of a state. */
static const char *before(Import *import, const Direction *d, const char *name, const Operand *first,
                          const char *index) {
    const char *start = "0";
    if (first) {
        const char *number = format(import, "%d", d->number);
        const char *const by_step[] = {number, "b", index}, *const by_batch[] = {"b", number, index};
        start = element(import, name_of(import, first), 3, d->of->batch_first ? by_batch : by_step);
    }
    return format(import, "(%s(t-1, b, %s) else %s)", name, index, start);
}

static const char *gate(Import *import, const char *name, int number) {
    return format(import, "%s(t, b, %d, j)", name, number);
}

/* A part of the biases, for all gates; 0 without. */
static const char *bias_of(Import *import, const Direction *d, bool of_state) {
    const Recurrence *r = d->of;
    if (!r->bias)
        return "0.0";
    return format(import, of_state ? "%s(%d, %lld * q + j + %lld)" : "%s(%d, %lld * q + j)", name_of(import, r->bias),
                  d->number, (long long)r->width, (long long)(r->gates * r->width));
}

/* The products with the input, and those with the state where they stand apart. */
static void print_gates(Import *import, const Direction *d) {
    const Recurrence *r = d->of;
    long long width = r->width;
    bool apart = strcmp(d->gates, d->state_gates);
    const char *ranges = format(import, "t in 0:%s, b in 0:%s, q in 0:%d, j in 0:%lld", size_text(import, r->steps),
                                size_text(import, r->batch), r->gates, width);
    const char *both = apart || !r->bias
                           ? bias_of(import, d, false)
                           : format(import, "%s + %s", bias_of(import, d, false), bias_of(import, d, true));
    statement(import, "    %s(t, b, q, j) = %s where %s", d->gates, both, ranges);
    statement(import, "    %s(t, b, q, j) += %s(t, b, r_i) * %s(%d, %lld * q + j, r_i)", d->gates, d->x,
              name_of(import, r->wx), d->number, width);
    if (apart)
        statement(import, "    %s(t, b, q, j) = %s where %s", d->state_gates, bias_of(import, d, true), ranges);
    statement(import, "    %s(t, b, q, j) += %s * %s(%d, %lld * q + j, r_k)", d->state_gates,
              before(import, d, d->h, r->h0, "r_k"), name_of(import, r->wh), d->number, width);
}

static const char *with_peephole(Import *import, const Direction *d, int number, int peephole, const char *state) {
    const char *value = gate(import, d->gates, number);
    if (!d->of->peepholes)
        return value;
    return format(import, "%s + %s(%d, j + %lld) * %s", value, name_of(import, d->of->peepholes), d->number,
                  (long long)(peephole * d->of->width), state);
}

/* Gates: input, output, forget, cell. */
static void print_lstm(Import *import, const Direction *d) {
    const char *former = before(import, d, d->c, d->of->c0, "j"), *now = format(import, "%s(t, b, j)", d->c);
    print_gates(import, d);
    statement(import, "    %s = %s * %s + %s * %s", now,
              activated(import, "Sigmoid", with_peephole(import, d, 2, 2, former)), former,
              activated(import, "Sigmoid", with_peephole(import, d, 0, 0, former)),
              activated(import, "Tanh", gate(import, d->gates, 3)));
    statement(import, "    %s(t, b, j) = %s * %s", d->h,
              activated(import, "Sigmoid", with_peephole(import, d, 1, 1, now)), activated(import, "Tanh", now));
}

/* Gates: update, reset, new. The reset gate multiplies the products with the state, or the state itself. */
static void print_gru(Import *import, const Direction *d) {
    const Recurrence *r = d->of;
    bool after = attribute_integer(import, "linear_before_reset", 0);
    const char *a = d->gates, *s = d->state_gates, *z = fresh_name(import, format(import, "%s_z", d->h));
    const char *n = fresh_name(import, format(import, "%s_n", d->h)),
               *reset = fresh_name(import, format(import, "%s_r", d->h));
    print_gates(import, d);
    statement(import, "    %s(t, b, j) = sigmoid(%s + %s)", z, gate(import, a, 0), gate(import, s, 0));
    statement(import, "    %s(t, b, j) = sigmoid(%s + %s)", reset, gate(import, a, 1), gate(import, s, 1));
    if (after)
        statement(import, "    %s(t, b, j) = tanh(%s + %s(t, b, j) * %s)", n, gate(import, a, 2), reset,
                  gate(import, s, 2));
    else {
        const char *product = fresh_name(import, format(import, "%s_u", d->h));
        const char *bias = r->bias ? format(import, " + %s(%d, j + %lld)", name_of(import, r->bias), d->number,
                                            (long long)(5 * r->width))
                                   : "";
        statement(import, "    %s(t, b, j) +=! %s(t, b, r_k) * %s * %s(%d, j + %lld, r_k)", product, reset,
                  before(import, d, d->h, r->h0, "r_k"), name_of(import, r->wh), d->number, (long long)(2 * r->width));
        statement(import, "    %s(t, b, j) = tanh(%s + %s(t, b, j)%s)", n, gate(import, a, 2), product, bias);
    }
    statement(import, "    %s(t, b, j) = (1 - %s(t, b, j)) * %s(t, b, j) + %s(t, b, j) * %s", d->h, z, n, z,
              before(import, d, d->h, r->h0, "j"));
}

static void print_rnn(Import *import, const Direction *d) {
    print_gates(import, d);
    statement(import, "    %s(t, b, j) = tanh(%s)", d->h, gate(import, d->gates, 0));
}

/* The input in the order of the steps: (step, batch, feature). */
static const char *ordered_input(Import *import, const Recurrence *r, bool backward) {
    const char *x = name_of(import, r->x);
    if (!backward && !r->batch_first)
        return x;
    const char *name = fresh_name(import, format(import, "%s_%s", x, backward ? "backward" : "steps"));
    const char *step = backward ? format(import, "%s - t", size_text(import, size_sum(import, r->steps, -1))) : "t";
    const char *const by_step[] = {step, "b", "i"}, *const by_batch[] = {"b", step, "i"};
    statement(import, "%s(t, b, i) = %s where t in 0:%s", name,
              element(import, x, 3, r->batch_first ? by_batch : by_step), size_text(import, r->steps));
    return name;
}

static Direction print_direction(Import *import, const Recurrence *r, int number) {
    Direction d = {.of = r, .number = number};
    const char *ending = r->directions == 2 ? number ? "_backward" : "_forward" : "";
    d.backward = number || !strcmp(attribute_text(import, "direction", "forward"), "reverse");
    d.x = ordered_input(import, r, d.backward);
    d.gates = fresh_name(import, format(import, "%s_gates%s", r->base, ending));
    d.state_gates = r->gates == 3 ? fresh_name(import, format(import, "%s_state_gates%s", r->base, ending)) : d.gates;
    d.h = fresh_name(import, format(import, "%s_h%s", r->base, ending));
    d.c = r->gates == 4 ? fresh_name(import, format(import, "%s_c%s", r->base, ending)) : NULL;
    statement(import, "scan t {");
    if (r->gates == 4)
        print_lstm(import, &d);
    else if (r->gates == 3)
        print_gru(import, &d);
    else
        print_rnn(import, &d);
    statement(import, "}");
    return d;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* A choice by the direction, at an index p. */
static const char *by_direction(Import *import, const char *const *values, int count) {
    return count == 1 ? values[0] : format(import, "p == 0 ? %s : %s", values[0], values[1]);
}

static void print_all_steps(Import *import, const Recurrence *r, const Direction *d) {
    Size forward[] = {r->steps, size_number(r->directions), r->batch, size_number(r->width)};
    Size batch[] = {r->batch, r->steps, size_number(r->directions), size_number(r->width)};
    const char *values[2];
    for (int i = 0; i < r->directions; i++)
        values[i] = d[i].backward
                        ? format(import, "%s(%s - t, b, j)", d[i].h, size_text(import, size_sum(import, r->steps, -1)))
                        : format(import, "%s(t, b, j)", d[i].h);
    Operand *result = output(import, 0, r->x->type, 4, r->batch_first ? batch : forward);
    statement(import, "%s(%s) = %s where t in 0:%s, p in 0:%d", result->name,
              r->batch_first ? "b, t, p, j" : "t, p, b, j", by_direction(import, values, r->directions),
              size_text(import, r->steps), r->directions);
}

static void print_last_step(Import *import, const Recurrence *r, const Direction *d, int number) {
    Size forward[] = {size_number(r->directions), r->batch, size_number(r->width)};
    Size batch[] = {r->batch, size_number(r->directions), size_number(r->width)};
    const char *values[2], *last = size_text(import, size_sum(import, r->steps, -1));
    for (int i = 0; i < r->directions; i++)
        values[i] = format(import, "%s(%s, b, j)", number == 1 ? d[i].h : d[i].c, last);
    Operand *result = output(import, number, r->x->type, 3, r->batch_first ? batch : forward);
    statement(import, "%s(%s) = %s where p in 0:%d", result->name, r->batch_first ? "b, p, j" : "p, b, j",
              by_direction(import, values, r->directions), r->directions);
}

void print_recurrence(Import *import) {
    Recurrence r = recurrence_of(import);
    Direction directions[2];
    if (import->failed)
        return;
    for (int i = 0; i < r.directions; i++)
        directions[i] = print_direction(import, &r, i);
    if (has_output(import, 0))
        print_all_steps(import, &r, directions);
    for (int i = 1; i < (r.gates == 4 ? 3 : 2); i++)
        if (has_output(import, i))
            print_last_step(import, &r, directions, i);
}
