/* program.h - questions about Programs, and Schedules and Targets as text. */
#ifndef LANG_PROGRAM_H
#define LANG_PROGRAM_H

#include "lang/expr.h"

/* --- components: what a stage writes and how; one, or one for each component of a tuple, whose first is the stage's
 * tensor, initial and value. Whoever asks something of all expressions of a stage goes through these. --- */
/* A new stage with one component, whose tensor names it and gives its axis_count and loc; all else is left to the
 * caller. */
Stage *stage_new(Arena *arena, Component component);
int stage_component_of(const Stage *stage, const Tensor *tensor); /* that writes it, or -1 */
bool stage_writes(const Stage *stage, const Tensor *tensor);
/* Whether it is what the component's reduction begins with; never of a stage without one. */
bool stage_has_identity(const Stage *stage, int component, const Expr *e);
/* Takes the outermost condition of the terms off the component's value; NULL: it has none. */
const Expr *stage_take_condition(const Stage *stage, int component, const Expr **value);
/* Takes it off the values of all components, where these have one in common: it may be missing where a value is the
 * identity anyway. NULL: they have none. */
const Expr *stage_take_shared_condition(const Stage *stage, const Expr **values);
const Tensor *stage_output(const Stage *stage); /* the first output that it writes, or NULL */
/* Loops over all that a stage computes: values, then initial values. */
TreeWalk *stage_walk(TreeWalk *walk, const Stage *stage, bool values, bool initials);
#define EACH_STAGE_EXPR(e, stage) EACH_NODE(const Expr, e, stage_walk(&e##_walk, stage, true, true), expr_next)
#define EACH_STAGE_READ(e, stage) EACH_NODE(const Expr, e, stage_walk(&e##_walk, stage, true, true), expr_next_read)
#define EACH_VALUE_EXPR(e, stage) EACH_NODE(const Expr, e, stage_walk(&e##_walk, stage, true, false), expr_next)
#define EACH_VALUE_READ(e, stage) EACH_NODE(const Expr, e, stage_walk(&e##_walk, stage, true, false), expr_next_read)
#define EACH_INITIAL_READ(e, stage) EACH_NODE(const Expr, e, stage_walk(&e##_walk, stage, false, true), expr_next_read)
bool stage_uses_tensor(const Stage *stage, const Tensor *tensor); /* reads it */
/* Of a stage that combines (condition && axis == e ? value : identity): e, the one value of the axis that counts for
 * given values of the others. NULL: all values of the axis count. */
const Expr *stage_axis_value(const Stage *stage, int axis);
/* Whether that is so of an axis, with a value that depends on reductions: each term goes to an element of its own. */
bool stage_scatters(const Stage *stage, int axis);
int stage_first_scatter(const Stage *stage);                /* the first such axis; axis_count: none */
bool stage_place_uses(const Stage *stage, const Var *axis); /* the value of such an axis depends on another */
/* Whether an index of a read is the axis, or its one value: of an extent of 1 simplified programs say 0. */
bool stage_index_is_axis(const Stage *stage, const Expr *index, int axis);
/* A copy with components of its own, for passes that go on to change them. */
Stage *stage_copy(Arena *arena, const Stage *stage);
/* A copy in which every expression is what expr_rewrite makes of it. */
Stage *stage_rewrite_exprs(Arena *arena, const Stage *stage, Expr *(*replace)(Arena *arena, Expr *e, void *context),
                           void *context);

/* Whether a reduction combines its terms in the order of the source under every schedule: sums and products of floats
 * under -fstrict, and combiners that do not claim to be associative and commutative. */
bool stage_is_ordered(const Program *program, const Stage *stage);
/* A component of what a combiner makes of two tuples. */
Expr *combiner_apply(Arena *arena, const Combiner *combiner, int component, Expr *const *left, Expr *const *right);

/* Makes a program whose stages and requirements are complete quick to ask where they are and what is required. A copy
 * with others is asked slowly until its own are listed. */
void program_list_stages(Arena *arena, Program *program);
const Stage *program_stage_of(const Program *program, const Tensor *tensor); /* that writes it, NULL for inputs */
int program_stage_index(const Program *program, const Stage *stage);         /* -1: it has none like it */
const Instr *program_find_instr(const Program *program, const char *name);
const Stage *program_find_stage(const Program *program, const char *name);
/* Parts of a stage as text: "best(n), at(n)", "argmax=", and its values or initial values: "(X(n, d), d)". */
void stage_print_targets(Text *text, const Stage *stage);
void stage_print_assignment(Text *text, const Stage *stage);
void stage_print_values(Text *text, const Stage *stage, bool initial);
/* Checked program as text, for -d: one line a stage with domain, accesses and types. */
void program_print(Text *text, const Program *program);
/* Operations of one call (a multiply-add counts 2): the GFLOP of reports. -1: sizes, or which terms a reduction has,
 * are known at run time only. */
double program_flops(const Program *program);
/* A tensor whose contents decide how many terms a reduction has; NULL: there is none. */
const Tensor *program_term_counts(const Program *program);
/* What it computes: itself, or what its algorithms implement. */
const Program *program_meaning(const Program *program);
double program_error(const Program *program); /* of all its algorithms together */
/* "O by conv2d_winograd4 (error 0.0001)"; NULL: as it is written. */
const char *program_algorithms(Arena *arena, const Program *program);
double stage_flops(const Stage *stage);        /* of all terms; -1: a size is not known */
int64_t tensor_elements(const Tensor *tensor); /* that its memory holds; -1 when not constant */

/* --- of tensors that have a ElementOrder --- */
Expr *tensor_size(Arena *arena, const Tensor *tensor);   /* elements that its memory holds, also in row-major order */
Expr *tensor_memory(Arena *arena, const Tensor *tensor); /* bytes of that */
Expr *order_extent(Arena *arena, const Tensor *tensor, int part);
Expr *order_offset(Arena *arena, const Tensor *tensor, Expr *const *index); /* in elements */
/* Of a component, -1 when not constant; padding: what its alignment added. */
int64_t order_stride(const Tensor *tensor, int part, int64_t *padding);
int64_t order_padding(const OrderPart *part, int64_t stride); /* what its alignment adds to a stride */
void order_print(Text *text, const ElementOrder *order);      /* "(d1/16, d0 align 8 offset 1, d1%16)" */

/* A schedule as source text: the whole block, or the statements alone one a line (what records store). */
void schedule_print(Text *text, const Schedule *schedule);
void schedule_print_statements(Text *text, const Schedule *schedule);
uint64_t schedule_hash(const Schedule *schedule);  /* of its statements: equal if they are written alike */
int schedule_hole_count(const Schedule *schedule); /* those of one name are one */
int schedule_hole_number(const Schedule *schedule, const char *name); /* of a named hole; -1: there is none */
/* Of a hole that is an argument of one of its statements, and the first of its name. */
int schedule_hole_place(const Schedule *schedule, const PrimArg *hole);
/* The hole that a hole shares its choices with: the first of its name. */
const PrimArg *schedule_hole_first(const Schedule *schedule, const PrimArg *hole);
/* Whether an argument is a hole that stands for a loop, a place or an order. Its choice is a number in its list. */
bool prim_argument_names(const Prim *prim, int index);
bool schedule_names_holes(const Schedule *schedule); /* it has such holes */
/* Choices of all holes to look at a schedule with: the first of each list of names, and one of several sizes. */
enum { SIZE_SAMPLES = 3 };
int64_t *schedule_sample(Arena *arena, const Schedule *schedule, int number);
/* Whether a hole is filled from a list of names, which must be there. */
bool hole_has_names(const Schedule *schedule, const PrimArg *hole);
/* Fills these holes alone. Constraints stay. */
Schedule *schedule_fill_names(Arena *arena, const Schedule *schedule, const int64_t *choices);
/* Whether a constraint of the schedule (the primitive require) holds for choices. */
bool constraint_holds(const Schedule *schedule, const Prim *require, const int64_t *choices);
int schedule_broken(const Schedule *schedule, const int64_t *choices); /* the first that does not; count: all do */
/* The schedule with every hole filled: hole h gets choices[h]. Its constraints are left out. Shares what it can. */
Schedule *schedule_fill(Arena *arena, const Schedule *schedule, const int64_t *choices);
void argument_print(Text *text, const PrimArg *argument);
void constraint_print(Text *text, const PrimArg *argument);
void rule_print(Text *text, const Rule *rule);
/* The predicate of a name in a rule's conditions, with its number in brackets, if it has one; -1: none. */
int predicate_find(const char *name, int *index);
/* The first condition that, as far as it is easy to see, no stage meets that meets those before it. NULL: none. */
const PrimArg *rule_contradiction(const Rule *rule);
extern const char *const predicate_spellings[PREDICATE_COUNT];
int prim_find(const char *spelling); /* a PrimOp, or -1 */
/* What a letter of prims.def asks for: a word for signatures, words for messages. A hole is an integer. */
typedef struct PrimLetter {
    char letter;
    PrimArgKind kind;
    const char *word, *wanted;
} PrimLetter;
int prim_letter_count(PrimOp op, bool *repeated);    /* repeated: the last one asks for one argument or more */
const PrimLetter *prim_letter(PrimOp op, int index); /* of a positional argument; behind the last letter: that one */
bool prim_takes(PrimArgKind kind, const PrimArg *argument);
/* The same for what a source says: there holes stand for loops, too. */
bool prim_letter_takes(PrimOp op, const PrimLetter *letter, const PrimArg *argument);
bool prim_has_key(PrimOp op, const char *key);
PrimArg arg_name(const char *name);
PrimArg arg_int(int64_t value);
void prim_remove_argument(Prim *prim, int index);
/* The argument with this key, or NULL. */
const PrimArg *prim_keyword(const Prim *prim, const char *key);

const Family *family_row(int index); /* of families.def; NULL behind the last */
int target_count(void);
const Target *target_row(int index);
const Target *target_find(const char *name); /* a row of targets.def, or NULL */
/* How well a schedule block's target name fits: 0 not, then more for the family, a level that the target includes, a
 * higher one, the name itself. */
int target_match(const Target *target, const char *name);
/* The family that a target's or a family's name belongs to; NULL: no such name. */
const char *target_family(const char *name);
const char *
target_nearest(const char *name);       /* the one that a name of other tools, or a misspelt one, stands for; or NULL */
bool target_is_known(const char *name); /* a target, a family of them, or a processor */
/* A row of processors.def; "" where it is not of the family, NULL behind the last one. */
const char *processor_spelling(int index, const char *family);
/* A feature of processors as `needs` spells it: LLVM's name of it, NULL when the family has none of that name. */
const char *cpu_feature_name(const char *family, const char *spelling);
/* The spelling of row `index` where it is of the family, "" where it is not; NULL behind the last. */
const char *cpu_feature_spelling(int index, const char *family);
bool target_has_feature(const Target *target, const char *spelling);
/* Whether a quotient by a constant, in vectors, is a product with its reciprocal that two multiply-adds correct: these
 * take less time than the divider. */
bool target_refines_quotients(const Target *target);
bool target_masks(const Target *target, int bytes);       /* elements of so many bytes are loaded and stored under */
                                                          /* masks */
bool target_converts_half(const Target *target);          /* has instructions for it */
int target_lanes(const Target *target, ElementType type); /* of a whole vector register, at least 1 */
int target_line_bytes(const Target *target);              /* of its caches; NULL: of most targets' */
int target_threads(const Target *target);                 /* those that a program is taken to have */
bool target_gathers(const Target *target, int bytes);     /* an instruction gathers elements of so many bytes */

/* Of a tensor, or of a scalar argument. */
ElementType argument_element_type(const Argument *argument);
/* A const input: a caller may pack it once, ahead of all calls. */
bool argument_is_packed(const Argument *argument);
bool program_requires(const Program *program, const Tensor *tensor); /* whether a requirement reads it */
/* Whether the program is a part of one in which other stages read the constant, too. */
bool program_reads_elsewhere(const Program *program, const Tensor *tensor);
/* Whether it is the tensor of an argument, or a part of one. */
bool program_is_given(const Program *program, const Tensor *tensor);
bool program_is_packed(const Program *program); /* any of its arguments */
/* Whether it reads what the output held before the call. */
bool program_reads_former(const Program *program, const Tensor *output);

#endif
