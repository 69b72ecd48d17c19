/* importer.h - what the files of the importer share: one model on its way to source.
 *
 * Nodes are taken in their order. Each one is folded where all that it needs is known, and else printed as statements.
 * What goes wrong first is reported at once with its node; then `failed` holds, what follows may be anything, and
 * nothing is written.
 */
#ifndef DRIVER_IMPORT_IMPORTER_H
#define DRIVER_IMPORT_IMPORTER_H

#include "driver/import/model.h"
#include "driver/options.h"
#include "lang/files.h"
#include "lang/value.h"

/* A size: factor times what is known at run time, and addend more. symbol: an expression of the source, or NULL for a
 * number, which has no addend. */
typedef struct Size {
    int64_t factor;
    const char *symbol;
    int64_t addend;
} Size;

/* An element that is known now, or an integer times a size that is known at run time. */
typedef struct Element {
    Value value;
    const char *symbol; /* NULL: the value */
} Element;

/* A tensor of the model. */
typedef struct Operand {
    const char *onnx; /* its name in the model */
    const char *name; /* in the source; NULL: it is not there yet */
    ElementType type;
    int rank;
    Size *shape;
    const OnnxTensor *tensor; /* contents of the file, or NULL */
    Element *elements;        /* contents that are known, or NULL */
    bool known;               /* its contents are: a tensor of the file, or elements */
} Operand;

/* An argument of the def whose contents are known. */
typedef struct Weight {
    const char *name;
    const Operand *operand;
    int rank;
    const Size *shape;
} Weight;

typedef enum NameKind { NAME_RESERVED, NAME_TENSOR, NAME_SIZE } NameKind;

/* A name of the source or of the model, and what it stands for. */
typedef struct Name {
    const char *text;
    NameKind kind;
    Operand *operand; /* NULL of a tensor: one between the statements of a step; of a size: its names */
} Name;

/* Names, found by their text. */
typedef struct NameTable {
    int count, capacity;
    Name **slots;
} NameTable;

/* The statements of a node, a line each; or the call of a block. */
typedef struct Step {
    const char *text;
} Step;

typedef struct Import {
    Arena *arena;
    Model *model;
    const ModelNode *node; /* the present one */
    bool failed;
    NameTable operands;     /* by their names in the model */
    NameTable names;        /* of the source */
    NameTable sizes;        /* that are known at run time, by their names in the model */
    const NameTable *words; /* that the statements have beside names; NULL: they are not made yet */
    const char *inside;     /* the node whose graph the present node is in; NULL: it is the model's own */
    int graphs;             /* of nodes so far */
    int inner_nodes;        /* of those */
    const char *function;   /* the name of the main def; NULL: not chosen yet */
    LIST(Operand *) inputs, outputs;
    LIST(Weight) weights;
    LIST(Step) steps;
    LIST(const char *) blocks; /* the text of defs that the steps call */
    Text text;                 /* of the present step */
} Import;

/* --- errors --- */
/* Says what of the present node is not known. */
void refuse_node(Import *import, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says once what is strange in the model. */
void warn_of_model(const Import *import, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- sizes.c --- */
Size size_number(int64_t number);
Size size_symbol(const char *symbol);
bool size_is(Size size, int64_t number);
bool size_known(Size size);
bool sizes_equal(Size a, Size b);
/* The same, as a symbol without an addend. */
Size size_as_symbol(Import *import, Size size);
Size size_product(Import *import, Size a, Size b);
/* The quotient where there is no remainder. False where that is not known. */
bool size_quotient(Size a, Size b, Size *quotient);
/* size + number. */
Size size_sum(Import *import, Size size, int64_t number);
/* a + b and a - b: equal sums of sizes are equal. */
Size size_add(Import *import, Size a, Size b);
Size size_subtract(Import *import, Size a, Size b);
/* How many steps of so many elements begin within a distance; none where that leads away. */
Size size_steps(Import *import, Size distance, int64_t by);
const char *size_text(Import *import, Size size);
/* The same without parentheses around all of it. */
const char *size_alone(Import *import, Size size);
Size shape_product(Import *import, const Size *shape, int rank);
/* The elements of the shape as a number; refuses what is not known. */
int64_t shape_count(Import *import, const Size *shape, int rank);
Size *new_shape(Import *import, int rank);
Size *tensor_shape(Import *import, const OnnxTensor *tensor);
bool shape_equal(const Size *a, const Size *b, int rank);
bool shape_known(const Size *shape, int rank);
/* The number of a size that must be known. */
int64_t known_size(Import *import, Size size);
/* As messages have it: with the model's own names, in quotes where they differ from those of the source. */
const char *size_shown(Import *import, Size size);
/* The options that bind what the size is made of, as a shell takes them: "-DN=NUMBER -D'seq len'=NUMBER". */
const char *size_options(Import *import, Size size);
void refuse_open_size(Import *import, Size size);

/* --- names.c --- */
Name *name_find(const NameTable *table, const char *text);
void name_add(Arena *arena, NameTable *table, const char *text, NameKind kind, Operand *operand);
/* Names that the source cannot give to tensors and sizes: words, types, functions, and import->words. */
void reserve_names(Import *import);
/* The words of the statements that are no names of tensors or sizes. */
NameTable words_beside_names(const Import *import, Arena *arena);
/* A name like this one that is valid and not taken; it is taken from then on. */
const char *fresh_name(Import *import, const char *like);
/* A name like this one for the main def, which C calls. What is in a def may have the same one. */
const char *function_name(Import *import, const char *like);
/* The index of a dimension. */
const char *index_name(Import *import, int rank, int dimension);
const char **index_names(Import *import, int rank);

/* --- operands.c --- */
Operand *find_operand(Import *import, const char *onnx);
Operand *new_operand(Import *import, const char *onnx, ElementType type, int rank, const Size *shape);
/* One of the file, under a name. */
void add_tensor(Import *import, const OnnxTensor *tensor, const char *onnx);
/* The present node's input; NULL: it has none there. */
Operand *input_or_none(Import *import, int number);
/* One that must be there: if not, after a message, one without dimensions. */
Operand *input(Import *import, int number);
bool has_output(const Import *import, int number);
/* The present node's output, which the source names. */
Operand *output(Import *import, int number, ElementType type, int rank, const Size *shape);
/* The present node's output, whose contents are known. */
Operand *known_output(Import *import, int number, ElementType type, int rank, const Size *shape, Element *elements);
/* A tensor between statements of the present node. */
const char *temporary(Import *import, const Operand *of, const char *what);
/* The type of a tensor of the file. False after a message: it or its shape is not known here. */
bool tensor_type(Import *import, const OnnxTensor *tensor, ElementType *type);
/* The known contents, or NULL. */
const Element *contents(Import *import, const Operand *operand);
/* Known integers, which may be sizes that are known at run time, or NULL after a message that names them by `what`. */
const Element *integers(Import *import, int number, const char *what, int *count);
/* The same without such sizes. */
const Element *known_integers(Import *import, int number, const char *what, int *count);
/* An integer as a size. */
Size size_of_element(const Element *element);
/* The name of the tensor in the source, which becomes an argument if its contents are known. */
const char *name_of(Import *import, const Operand *operand);
/* The same elements with another shape: of an argument's own if the contents are known. NULL if they are not. */
const char *name_with_shape(Import *import, const Operand *operand, int rank, const Size *shape);
/* An element, by expressions for the indices; a number if it is known and the only one. */
const char *read_at(Import *import, const Operand *operand, const char *const *indices);
/* An element at the indices of something of this shape that it is broadcast to. */
const char *read_broadcast(Import *import, const Operand *operand, int rank, const Size *shape,
                           const char *const *indices);
const char *number_text(Import *import, Value value);

/* --- attributes.c --- */
const Attribute *attribute(const Import *import, const char *name);
int64_t attribute_integer(const Import *import, const char *name, int64_t otherwise);
double attribute_real(const Import *import, const char *name, double otherwise);
const char *attribute_text(const Import *import, const char *name, const char *otherwise);
/* NULL if there is none. */
const int64_t *attribute_integers(const Import *import, const char *name, int *count);
/* Axes of an attribute or an input, as truth values for `rank` dimensions. False: none are given. */
bool axes_given(Import *import, int number, int rank, bool *axes);
/* The sizes of the present node's outputs, parts of such a size: given, or all but the last the same. NULL after a
 * message. */
Size *split_sizes(Import *import, Size size);
/* An axis from 0 on. */
int axis_of(Import *import, int64_t axis, int rank);

/* --- statements.c --- */
void statement(Import *import, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "NAME(i, j)" */
const char *element(Import *import, const char *name, int rank, const char *const *indices);
const char *joined(Import *import, const char *const *words, int count, const char *between);
/* " where i in 0:N, ..." for the dimensions that `which` has, all if NULL; "" for none. */
const char *where(Import *import, int rank, const char *const *indices, const Size *shape, const bool *which);
/* The text, in parentheses if it is more than a word. */
const char *in_parentheses(Import *import, const char *text);
/* What is 0, or false, of the type. */
const char *nothing_of(ElementType type);
/* The value as one of the type: converted if it may be of another one. */
const char *converted(Import *import, ElementType type, const char *value);
/* The shape of two that are broadcast to each other. */
void broadcast(Import *import, const Operand *operand, int *rank, Size **shape);
const char *format(Import *import, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- operators.c --- */
/* Prints or folds nodes, in their order. */
void import_nodes(Import *import, const ModelNodes *nodes);
/* What was printed since the last step is one. */
void end_step(Import *import);

/* --- fold.c --- */
/* Whether the present node was computed now. */
bool fold_node(Import *import);

/* --- blocks.c --- */
/* Makes a def of each run of steps that is there again with other tensors, and calls of these runs. */
void find_blocks(Import *import);

/* --- source.c --- */
/* "const float(64, 3, 7, 7) w" */
const char *declared_tensor(Import *import, const char *before, ElementType type, const char *name, int rank,
                            const Size *shape);
/* "def NAME(ARGUMENTS) -> (RESULTS) {" */
void add_head(Text *text, const char *name, const char *const *arguments, int argument_count,
              const char *const *results, int result_count);
/* Statements, in lines that are not too long. */
void add_statements(Text *text, const char *statements);

/* The text of the file. folder: of the weights, as the source names it. */
const char *source_text(Import *import, const char *name, const char *folder);

/* --- weights.c --- */
typedef struct WeightFile {
    const char *path;
    FilePart parts[2]; /* the head and the elements */
    bool exists;       /* it did before */
} WeightFile;

typedef struct WeightFiles {
    const char *folder;
    bool is_new; /* the folder was not there before */
    LIST(WeightFile) files;
    int written; /* how many of them are */
} WeightFiles;

/* A file for each weight. What cannot be read of the model is refused. */
WeightFiles weight_files(Import *import, const char *folder);
/* False after a message: a path cannot be written, or a file is there with other contents and must stay. */
bool weight_files_can_be_written(const WeightFiles *files, bool may_replace);
/* False after a message, with nothing new left behind. */
bool write_weights(WeightFiles *files);
/* What write_weights made goes again. */
void remove_weights(const WeightFiles *files);

#endif
