/* tile.h - what the files of the multi-level tiling group share: the axes, reductions and operands of one. */
#ifndef AUTOSCHED_SPACE_TILE_H
#define AUTOSCHED_SPACE_TILE_H

#include "autosched/space/groups.h"

/* A spatial axis: of the root, and of the anchor that is computed in the root's tile. */
typedef struct TileAxis {
    const Var *axis;        /* of the anchor as the nest has it */
    const char *loop;       /* "O.h" of the root */
    const char *inner_loop; /* "O[0].h" of the anchor */
    int64_t extent;
    bool steps;       /* counts the steps of the scan that the root is in: the root has no such loop */
    bool tiled;       /* its extent is not 0 or 1 */
    bool chained;     /* a loop of the root's chain, outside of all others */
    bool cases;       /* chooses between cases, too expensive for lanes: whole periods of it are unrolled */
    int lanes;        /* as the vector axis */
    int tile, vector; /* genes: (middle, inner); as the vector axis, (middle, vectors) */
    const char *outer, *middle, *inner, *lane, *anchor_outer, *anchor_lane; /* names of the loops it is split to */
} TileAxis;

typedef struct TileReduction {
    const Var *axis;
    const char *loop;
    int64_t extent;
    int unroll, block; /* genes: unrolled steps; (block, unrolled steps); -1 none */
    const char *outer, *middle, *inner;
} TileReduction;

/* An operand of the anchor that may be copied to a packed or padded buffer. */
typedef struct TileOperand {
    const Expr *read;
    const char *name; /* of the copy */
    int pack;         /* gene: PACK_... */
    bool shared;      /* the tensor is read in another way, too */
    bool streamed;    /* a constant that is larger than the caches: a copy of it lies in memory as it is read */
} TileOperand;

typedef enum PackPlace {
    PACK_NONE, /* read in place */
    PACK_ROOT, /* copied once, before the root */
    PACK_TASK, /* in each iteration of the parallel loop */
    PACK_TILE, /* in each iteration of the last outer loop */
    PACK_PLACES
} PackPlace;

typedef enum ReduceOrder {
    REDUCE_SOURCE,  /* as first used; the last is unrolled */
    REDUCE_LARGEST, /* the largest innermost and unrolled */
    REDUCE_BLOCKED, /* the largest outermost in blocks, which are innermost again */
    REDUCE_ORDERS,
    REDUCE_CLIP_LAST = REDUCE_ORDERS, /* the last clipped one outermost and unrolled, then other clipped ones */
    REDUCE_CLIP_ALL,                  /* all clipped ones outermost and unrolled */
    REDUCE_CLIP_ORDERS
} ReduceOrder;

typedef struct Tile {
    const Stage *root;  /* whose loops these are */
    const Chain *chain; /* that the root has to do with, or NULL */
    int producer;       /* its number in that; -1: it is the root of it */
    int placed; /* it is computed inside of loops that go through its first axes, the last of these in blocks of */
                /* the axis' tile; 0: it is at the root */
    const Stage *anchor; /* as the nest has it after inlining; NULL: the root has no reduction */
    const Stage *value;  /* the anchor, or else the root, as the nest has it */
    bool fused;          /* the anchor is not the root */
    int axis_count;
    TileAxis *axes;
    int reduction_count;
    TileReduction *reductions;
    int largest; /* reduction with the largest extent */
    LIST(TileOperand) operands;
    int candidate_count;
    int *candidates; /* vector axes, best first */
    int vector_gene, outer_gene, middle_gene, inner_gene, parallel_gene, reduce_gene;
    const Instr *instr; /* that can run the lanes of a candidate and the steps of a reduction; or NULL */
    int instr_candidate, instr_reduction, instr_gene;
} Tile;

/* How an operand is read along an axis. */
typedef enum AccessKind { ACCESS_NONE, ACCESS_CONTIGUOUS, ACCESS_STRIDED, ACCESS_IRREGULAR } AccessKind;

/* coefficient: of the axis in its one dimension, set for CONTIGUOUS and STRIDED; dimension likewise. */
AccessKind access_along(const Expr *read, const Var *axis, int *dimension, int64_t *coefficient);

/* The loops of a tile group while its statements are written: lists of names, outermost first. */
typedef struct NameList {
    int count;
    const char **names;
    int capacity;
    Arena *arena;
} NameList;
void names_add(NameList *list, const char *name);
NameList names_new(Arena *arena);

typedef struct TileWriter {
    Space *space;
    Group *group;
    const Tile *tile;
    const int *genes;
    Sketch *sketch;
    int vector;        /* the axis, or -1 */
    ReduceOrder order; /* of the reductions */
    NameList outers, middles, inners, reductions, unrolled;
    const char *lane, *step; /* step: the reduction loop that an instruction runs with the lanes; or NULL */
    const char *place;       /* of a tile that is computed at a loop: the one outside of the blocks, or NULL */
    const char *reader;      /* the stage that reads the operands */
    const char *task, *last; /* the parallel loop, and the innermost loop outside the register tile; NULL: none */
    const char *last_outer;
} TileWriter;

/* tile_pack.c: the cache_read statements of the operands, and the loops of the copies. False: the copies' loops are not
 * what was expected. */
bool tile_pack(TileWriter *writer);
/* Whether an operand can be copied, and is worth it, at all. */
bool operand_packable(const Expr *read);
/* tile_clip.c: how many orders of the reductions there are. */
/* Whether an operand is read along both axes. */
bool tile_shares_operand(const Tile *tile, int a, int b);
int tile_reduce_orders(const Space *space, const Tile *tile);
/* Whether the order is one of those that leave out terms outside; whether that makes sense; what is not packed then. */
bool tile_clips(const TileWriter *writer);
bool tile_clip_makes_sense(const TileWriter *writer);
bool tile_reads_in_place(const TileWriter *writer, const TileOperand *operand);
/* Lists the reductions of such an order but the one to be split, which comes after them: its number, or -1. */
int tile_order_clipped(TileWriter *writer);
/* Where a reduction stands among those of an order: 0 to twice their number. */
int tile_reduction_place(const TileWriter *writer, int reduction);
/* Cuts the first and the last off the middle loops along which they differ in what is outside. */
void tile_partition(TileWriter *writer);
/* tile_start.c: the choices of the fixed heuristics. */
void tile_choose_start(Space *space, Group *group, Tile *tile);
/* tile_instr.c */
void tile_find_instr(Space *space, Group *group, Tile *tile);
void tile_start_instr(Group *group, const Tile *tile);
bool tile_uses_instr(const TileWriter *writer);
bool tile_instr_agrees(const TileWriter *writer);
void tile_tensorize(TileWriter *writer, const char *lane);
/* Whether the copy of an operand has to be in the order of the instruction; at most read->count + 2 items. */
bool tile_instr_packs(const TileWriter *writer, const Expr *read);
int tile_instr_layout(const TileWriter *writer, const Expr *read, PrimArg *items);
/* Lanes for the widest type that the stage computes in. */
int stage_lanes(const Space *space, const Stage *stage);
/* tile.c: the axes and genes of a tile for the loops of `root`, the group's or one computed at these, see Tile. */
Tile *tile_new(Space *space, Group *group, const Stage *root, const Stage *anchor, int placed);
/* tile_emit.c */
bool tile_emit(Space *space, Group *group, const int *genes, Sketch *sketch);
/* The same for a tile that is computed at a loop already; place: the loop around its blocks, or NULL. */
bool tile_emit_placed(Space *space, Group *group, const Tile *tile, const int *genes, Sketch *sketch,
                      const char *place);

#endif
