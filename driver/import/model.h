/* model.h - an ONNX model as its file has it: nodes, attributes, and tensors whose contents stay where they are.
 */
#ifndef DRIVER_IMPORT_MODEL_H
#define DRIVER_IMPORT_MODEL_H

#include "driver/import/wire.h"
#include "lang/tensorc.h"

/* A size of a declared shape: a number, or the name of one that is known at run time; "" where it has no name. */
typedef struct DeclaredSize {
    int64_t size; /* below 0: not known */
    const char *name;
} DeclaredSize;

typedef struct OnnxTensor {
    const char *name;
    int type; /* of ONNX */
    int rank;
    int64_t *shape;
    int64_t count;          /* of elements, by its shape */
    Bytes raw;              /* little-endian elements, one after another */
    bool has_raw;           /* false: packed */
    Bytes packed;           /* elements as numbers of the wire format */
    LIST(uint64_t) loose;   /* elements, or their bits, that stand alone in the file */
    const char *location;   /* of another file, or NULL */
    int64_t offset, length; /* in that file; length below 0: all that its shape asks for */
} OnnxTensor;

typedef struct Attribute {
    const char *name;
    float real;
    int64_t integer;
    const char *text;
    const char *reference; /* inside of a function: the name of the call's attribute that it is; "": it is itself */
    const OnnxTensor *tensor;
    const struct ModelGraph *graph; /* nodes inside of the node; NULL: there are none */
    LIST(float) reals;
    LIST(int64_t) integers;
} Attribute;

typedef LIST(const char *) NodeNames;
typedef LIST(Attribute *) NodeAttributes;

typedef struct ModelNode {
    const char *name, *kind, *domain;
    NodeNames inputs, outputs; /* "" stands for none */
    NodeAttributes attributes;
    int number; /* among the nodes of the graph, from 0 */
} ModelNode;

typedef LIST(ModelNode *) ModelNodes;

/* An operator that the model defines by nodes. */
typedef struct ModelFunction {
    const char *name, *domain;
    NodeNames inputs, outputs;
    NodeAttributes defaults;
    ModelNodes nodes;
} ModelFunction;

typedef struct Declared {
    const char *name;
    int type; /* of ONNX; 0: no tensor */
    bool has_shape;
    LIST(DeclaredSize) shape;
} Declared;

/* That of the model, or of a node: it then reads tensors around it, too. */
typedef struct ModelGraph {
    LIST(Declared *) inputs, outputs;
    LIST(OnnxTensor *) tensors; /* initializers */
    ModelNodes nodes;           /* the model's own: calls of functions are their nodes */
} ModelGraph;

typedef struct Model {
    Arena *arena;
    const char *path;
    Bytes file;    /* mapped */
    int64_t opset; /* of ONNX's own operators */
    ModelGraph graph;
    LIST(ModelFunction *) functions;
    int calls; /* of functions so far */
    LIST(struct MappedFile {
        const char *location;
        Bytes bytes;
    })
    others; /* files of tensors */
} Model;

/* Maps and reads a file. NULL after a message. onnx_close unmaps it. */
Model *onnx_open(Arena *arena, const char *path);
void onnx_close(Model *model);

/* attributes.c */
/* NULL: there is none of that name. */
const Attribute *find_attribute(const NodeAttributes *attributes, const char *name);

/* graphs.c */
/* How nodes are copied. */
typedef struct NodeCopy {
    Arena *arena;
    const char *label; /* before the names of nodes; no other copy has it */
    const char *(*name)(const struct NodeCopy *copy, const char *name); /* of a tensor, as the copy has it */
    /* An attribute as the copy has it; NULL: it has none. A function that is NULL: all are the same. */
    const Attribute *(*attribute)(const struct NodeCopy *copy, const Attribute *attribute);
} NodeCopy;
ModelNode *node_copy(const NodeCopy *copy, const ModelNode *node);

/* functions.c */
/* Adds the nodes to a list, with the nodes of functions in place of their calls. False after a message. */
bool expand_functions(Model *model, const ModelNodes *nodes, ModelNodes *to);

/* tensor_data.c */
/* The element type of one of ONNX's; false: it has none here. */
bool onnx_type(int type, ElementType *element);
const char *onnx_type_name(int type);
/* The contents, as row-major little-endian elements of its element type: those of the mapped file, unless they are
 * numbers of the wire format, which are decoded. NULL with *why. */
const void *tensor_data(Model *model, const OnnxTensor *tensor, const char **why);
/* Reads a message into a tensor. */
OnnxTensor *read_tensor(Arena *arena, Bytes bytes, WireError *error);
/* Maps a file. False with *why. */
bool map_file(const char *path, Bytes *bytes, const char **why);

#endif
