/* tile.h - the door of the multi-level tiling group: its axes, reductions and operands. */
#ifndef AUTOSCHED_SPACE_TILE_TILE_H
#define AUTOSCHED_SPACE_TILE_TILE_H

#include "autosched/space/groups.h"

/* A spatial axis of the root, and of the anchor that is computed in the root's tile. */
typedef struct TileAxis {
    const Var *axis;        /* of the anchor, as the nest has it */
    const char *loop;       /* "O.h" of the root */
    const char *inner_loop; /* "O[0].h" of the anchor */
    int64_t extent;
    bool steps;       /* it counts the steps of the root's scan: the root has no such loop */
    bool tiled;       /* its extent is not 0 or 1 */
    bool chained;     /* it is a loop of the root's chain, outside all others */
    bool outside;     /* of a resumed tile: its outer loop is one of the root, around the tile */
    bool cases;       /* it chooses between cases that are too expensive for lanes: whole periods are unrolled */
    int lanes;        /* lanes when it is the vector axis */
    bool shorter;     /* the lanes are fewer than registers have */
    int tile, vector; /* genes: (middle, inner); when it is the vector axis, (middle, vectors) */
    const char *outer, *middle, *inner, *lane, *anchor_outer, *anchor_lane; /* names of its loops after splitting */
} TileAxis;

typedef struct TileReduction {
    const Var *axis;
    const char *loop;
    int64_t extent;
    int unroll, block; /* genes: unrolled steps; (block, unrolled steps); -1: none */
    const char *outer, *middle, *inner;
} TileReduction;

/* An operand of the anchor that may be copied to a packed or padded buffer. */
typedef struct TileOperand {
    const Expr *read;
    const char *name; /* of the copy */
    int pack;         /* gene: PACK_... */
    bool shared;      /* the tensor is also read in another way */
    bool streamed;    /* a constant larger than the caches: its copy lies in memory in the order of reading */
} TileOperand;

typedef enum PackPlace {
    PACK_NONE, /* read in place */
    PACK_ROOT, /* copied once, before the root */
    PACK_TASK, /* in each iteration of the parallel loop */
    PACK_TILE, /* in each iteration of the last outer loop */
    PACK_PLACES
} PackPlace;

typedef enum ReduceOrder {
    REDUCE_SOURCE,  /* in the order of first use; the last is unrolled */
    REDUCE_LARGEST, /* the largest innermost and unrolled */
    REDUCE_BLOCKED, /* the largest in blocks: the loop over blocks outermost, the one in a block innermost */
    REDUCE_ORDERS,
    REDUCE_CLIP_LAST = REDUCE_ORDERS, /* the last clipped one outermost and unrolled, then the other clipped ones */
    REDUCE_CLIP_ALL,                  /* all clipped ones outermost and unrolled */
    REDUCE_CLIP_ORDERS
} ReduceOrder;

/* A reduction in pieces. */
typedef struct TilePieces {
    int gene, sizes;                   /* genes: whether; (terms of a piece, pieces side by side) */
    const char *piece, *rest;          /* loops over pieces, and inside one */
    const char *stage, *outer, *inner; /* the stage of partial results; its loops over pieces */
    const struct Tile *partial;        /* the tile of that stage */
} TilePieces;

typedef struct Tile {
    const Stage *root;  /* the stage whose loops these are */
    const Chain *chain; /* the chain that the root is part of, or NULL */
    int producer;       /* the root's number among its producers; -1: it is the chain's root */
    int placed;         /* its first axes that loops around it have, the last in blocks of its tile; 0: it is at root */
    bool around;        /* it is the group's root: these loops are its own, and are cut already */
    const Stage *anchor; /* after inlining; NULL: the root has no reduction */
    const Stage *value;  /* the anchor, or without one the root, as the nest has it */
    bool fused;          /* the anchor is not the root */
    bool resumed;        /* it is the sum of a fused tile, computed in blocks at an outer loop of the consumer */
    int axis_count;
    TileAxis *axes;
    int reduction_count;
    TileReduction *reductions;
    int largest; /* the reduction with the largest extent */
    LIST(TileOperand) operands;
    int candidate_count;
    int *candidates; /* vector axes, best first */
    int vector_gene, outer_gene, middle_gene, inner_gene, parallel_gene, reduce_gene;
    const Instr *instr; /* can run the lanes of a candidate axis and the steps of a reduction; or NULL */
    int instr_candidate, instr_reduction, instr_gene;
    TilePieces *pieces;          /* or NULL: the reduction stays whole */
    int block_gene, block_sizes; /* genes: where the loop over blocks of the largest reduction is (-1: there are none);
                                  * (steps of a block, unrolled steps) */
    Map *copies;                 /* the loops of copies, by what they depend on: pack.c */
} Tile;

/* How an operand is read along an axis. */
typedef enum AccessKind { ACCESS_NONE, ACCESS_CONTIGUOUS, ACCESS_STRIDED, ACCESS_IRREGULAR } AccessKind;

/* Whether its reduction deals out terms to the values of an axis (stage_deals_out). That axis has a loop of its own. */
bool tile_deals_out(const Tile *tile);
/* For CONTIGUOUS and STRIDED also sets the one dimension that the axis is in, and its coefficient there. */
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
    ReduceOrder order; /* order of the reductions */
    NameList outers, middles, inners, reductions, unrolled;
    const char *lane, *step; /* step: the reduction loop that an instruction runs together with the lanes; or NULL */
    const char *place;       /* of a tile that is computed at a loop: the loop outside its blocks; or NULL */
    const char *reader;      /* the stage that reads the operands */
    const char *task, *last; /* the parallel loop, and the innermost loop outside the register tile; or NULL */
    const char *last_outer;
    int block; /* of the outer loops: the one over blocks of the reduction; -1: none */
    int fused; /* how many outer loops the parallel loop consists of */
} TileWriter;

/* pack.c: writes the cache_read statements of the operands, and the loops of the copies. False: the copies' loops
 * are not as expected. */
bool tile_pack(TileWriter *writer);
/* Whether an operand can be copied, and may be worth it. */
bool operand_packable(const Expr *read);
/* Whether an operand is read along both axes. */
bool tile_shares_operand(const Tile *tile, int a, int b);
/* copy.c: the layout of a copy of what is read. */
typedef LIST(PrimArg) CopyLayout;
typedef struct CopyRead {
    Space *space;
    const Expr *read;
    const Var *axis; /* of the lanes; NULL: there are none */
    int lanes;
    bool at_root;
    const int *ranks; /* of each dimension: the place of its innermost reduction in the order of use; -1: it has none */
} CopyRead;
const char *copy_dimension(Space *space, int dimension);
/* Whether panels of lanes suit it; and of which dimension. */
bool copy_is_panels(const CopyRead *copied, int *dimension);
/* False: no layout helps. An empty layout is that of the tensor. */
bool copy_layout(const CopyRead *copied, CopyLayout *layout);
/* Adds the dimensions that are not done, in the order of use; spatial_last puts those without reductions last. */
void copy_add_others(const CopyRead *copied, CopyLayout *layout, const bool *done, bool spatial_last);
/* Writes how the loops of a cache_read run, whose nest is given. */
typedef struct CopyWriter {
    Space *space;
    Group *group;
    Sketch *sketch;
} CopyWriter;
const NestStage *nest_stage_named(const Nest *nest, const char *name); /* NULL: none */
/* In vectors; lanes that are a stride apart in the source are transposed in registers. */
void copy_vectorize(const CopyWriter *writer, const NestStage *copy, int lanes);
/* A row of all panels at once: it is contiguous, and rows may be pages apart. */
void copy_by_rows(const CopyWriter *writer, const NestStage *copy);
/* For an instruction: in the source its lanes and steps are in the opposite order. */
void copy_unroll(const CopyWriter *writer, const NestStage *copy);
/* Makes the outer loops of a copy at the root parallel, as many as give every thread work. */
void copy_parallelize(const CopyWriter *writer, const NestStage *copy);
/* clip.c: how many orders of the reductions there are. */
int tile_reduce_orders(const Space *space, const Tile *tile);
/* Whether the order leaves out terms outside a tensor; whether that makes sense; which operands are then not packed. */
bool tile_clips(const TileWriter *writer);
bool tile_clip_makes_sense(const TileWriter *writer);
bool tile_reads_in_place(const TileWriter *writer, const TileOperand *operand);
/* Lists the reductions of such an order, except the one to be split, which comes last: returns its number, or -1. */
int tile_order_clipped(TileWriter *writer);
/* The position of a reduction in an order: 0 to twice their number. */
int tile_reduction_place(const TileWriter *writer, int reduction);
/* Cuts the first and the last iterations off middle loops where these differ in what is outside a tensor. */
void tile_partition(TileWriter *writer);
/* ends.c: cuts off the tiles along the lanes that read the edge, wrap around or reflect; after the order of loops.
 */
void tile_cut_ends(TileWriter *writer);
/* pieces.c: whether the largest reduction may be computed in pieces; makes genes for it. */
void tile_make_pieces(Space *space, Group *group, Tile *tile);
bool tile_in_pieces(const Tile *tile, const int *genes);
/* Cuts it: what is written then is the tile of the partial results. */
void tile_write_pieces(TileWriter *writer);
/* The loops of their sum. */
void tile_write_sum(TileWriter *writer);
/* block.c: makes genes for blocks of the largest reduction around the register tile, where they may pay. */
void tile_make_blocks(Space *space, Group *group, Tile *tile);
bool tile_in_blocks(const Tile *tile, const int *genes);
/* Where the loop over blocks is among the outer loops; -1: another place is the same. */
int tile_block_place(const TileWriter *writer);
/* Puts it there. False: another place is the same. */
bool tile_add_block(TileWriter *writer, const char *loop);
/* The tile of a fused sum in blocks, inside the first `place` outer loops of its consumer. */
const Tile *tile_of_sum(const TileWriter *writer, int place);
/* start.c: the choices of the fixed heuristics. */
void tile_choose_start(Space *space, Group *group, Tile *tile);
/* instr.c */
void tile_find_instr(Space *space, Group *group, Tile *tile);
void tile_start_instr(Group *group, const Tile *tile);
bool tile_uses_instr(const TileWriter *writer);
bool tile_instr_agrees(const TileWriter *writer);
void tile_tensorize(TileWriter *writer, const char *lane);
/* Whether the copy of an operand must have the instruction's order; and that order, at most read->count + 2 items. */
bool tile_instr_packs(const TileWriter *writer, const Expr *read);
int tile_instr_layout(const TileWriter *writer, const Expr *read, PrimArg *items);
/* Lanes for the widest type that the stage computes in. */
int stage_lanes(const Space *space, const Stage *stage);
/* tile.c: the axes and genes of a tile for the loops of `root`: the group's, or a stage computed at them. */
Tile *tile_new(Space *space, Group *group, const Stage *root, const Stage *anchor, int placed);
/* emit.c */
bool tile_emit(Space *space, Group *group, const int *genes, Sketch *sketch);
/* The same for a tile that is already computed at a loop. place: the loop around its blocks, or NULL. */
bool tile_emit_placed(Space *space, Group *group, const Tile *tile, const int *genes, Sketch *sketch,
                      const char *place);

/* anchor: the reduction computed in the root's tile; or NULL. */
void tile_group_new(Space *space, Group *group, const Stage *anchor);

/* The tiles at one end of an axis in which something is outside: their number follows from the sizes (middle, vectors)
 * of tiles. */
typedef struct TileEnd {
    int64_t extent;
    int lanes;
    int64_t inside; /* the first element that is inside; at the other end, the one behind the last */
    bool behind;
} TileEnd;
/* As partition counts them: negative from the end. */
int64_t end_tiles(const TileEnd *end, int64_t middle, int64_t vectors);

#endif
