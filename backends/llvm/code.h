/* code.h - what the files of the LLVM code generator share: one module under construction.
 *
 * The generator turns flat Kernels into SSA in final form: vectors are explicit, register buffers are allocas that
 * mem2reg promotes, multiply-adds are fused here. Later passes need not find anything, so only a few quick ones run.
 *   llvm/emit.c        the way in: modules, passes, bytes out
 *   llvm/constants.c   contents of constant tensors
 *   llvm/types.c       types, constants, intrinsics, small idioms
 *   llvm/function.c    frames: functions, blocks, loops, where a variable or a buffer is
 *   llvm/values.c      expressions; llvm/arithmetic.c operators; llvm/convert.c casts; llvm/math.c functions
 *   llvm/instr.c       hardware instructions that the source declares
 *   llvm/memory.c      reads and stores; llvm/registers.c those of register buffers
 *   llvm/temporaries.c where temporaries live
 *   llvm/runtime.c     calls of the runtime, and its parts: memory for temporaries (runtime/memory.ll), threads
 *   llvm/entries.c     the small functions beside the one that has the code; llvm/packed.c those of packed arguments
 *   llvm/shared.c      nests that a kernel runs several times, as functions
 *   llvm/shuffle.c     lanes in another order
 *   llvm/masks.c       accesses under masks that no instruction has
 *   llvm/lanes.c       operations of floats with as many lanes as a value has: llvm/functions is written in them
 *   llvm/statements.c  statements; llvm/parallel.c parallel loops; llvm/launch.c how they come to run in threads
 *   llvm/debug.c       line numbers
 *   llvm/blocks.c      long blocks of the optimized module, cut
 *   llvm/partitions.c  long modules, whose code several processes generate
 *
 * A value of several lanes is an LLVM vector with the next power of two of lanes. Those beyond its own hold anything,
 * and are never read from memory or stored. half and bfloat16 values are floats that the type can hold: they are
 * computed in float and rounded to the type after each operation. bool is i1 in values and a byte in memory.
 */
#ifndef BACKENDS_LLVM_CODE_H
#define BACKENDS_LLVM_CODE_H

#include "backends/llvm/llvm.h"
#include "lang/map.h"

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>

/* --- a module under construction --- */

typedef struct Buffer {
    const Tensor *tensor;
    LLVMValueRef pointer;              /* in memory */
    int64_t first;                     /* the element that the pointer is at */
    struct Registers *registers;       /* or in registers */
    const struct Placement *placement; /* of a temporary in memory */
} Buffer;

/* The values of expressions (Expr -> LLVMValueRef) on one path of control flow through a statement. A path knows the
 * values that were known where it begins. */
typedef struct Memo {
    Map values;
    struct Memo *outer;
    int depth;  /* paths around it */
    bool index; /* the values make an index: lanes that were never written must hold one number, whatever it is */
} Memo;

enum { FOLDED_BYTES = 4096 }; /* limit of constants whose elements may become parts of instructions */

/* The contents of a constant tensor in the module; equal contents are there once. */
typedef struct Constant {
    const void *data;
    size_t bytes;
    LLVMValueRef global;
} Constant;

/* A constant that is added to the object after LLVM has made it. */
typedef struct AddedConstant {
    const Tensor *tensor;
    const char *key; /* constant_key */
    const char *symbol;
    LLVMValueRef global;
} AddedConstant;

/* A constant mask that is kept in a register. */
typedef struct HeldMask {
    uint64_t lanes;
    LLVMValueRef mask;
} HeldMask;

enum { MASKS_HELD = 6 }; /* at most: one of the mask registers is left for other masks */

typedef struct Frame {
    struct Frame *outer;
    LLVMValueRef function;
    LLVMBasicBlockRef entry; /* holds only allocas; ends in a branch to the first block */
    LLVMBasicBlockRef leave; /* gives temporaries back and returns */
    LLVMValueRef status;     /* alloca of what is returned; NULL in a function that returns nothing */
    LLVMValueRef sink;       /* where unwanted stores go; or NULL */
    int zeros_touched;       /* the numbers of words, added, of zeros that it has touched (zeros_under_mask) */
    LLVMValueRef workspace;  /* memory of the caller for temporaries: null at run time for that of the pool */
    LLVMValueRef heap;       /* temporaries of the call, or this thread's slice of them; or NULL */
    HeldMask masks[MASKS_HELD];
    int mask_count;
    Map variables; /* Var -> LLVMValueRef */
    Map buffers;   /* Tensor -> Buffer */
    int depth;
    int leading;           /* parameters before the sizes */
    bool parallel;         /* inside a parallel loop: nested ones run serially */
    LLVMMetadataRef scope; /* debug information */
} Frame;

/* An address: a pointer plus a part of an index. */
typedef struct KnownAddress {
    LLVMValueRef from, address;
    LLVMTypeRef type;
    const Expr *part;
} KnownAddress;

/* What the read of a temporary became as a divisor: a reciprocal and a scale. */
typedef struct KnownDivisor {
    const Expr *read;
    LLVMValueRef reciprocal, scale;
} KnownDivisor;

typedef struct Code {
    Arena *arena;
    const Target *target;
    const EmitOptions *options;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, pointer, nothing;
    bool half_instructions; /* the processor converts half and float */
    bool single_thread;     /* no parallel code at all */
    const Kernel *kernel;   /* the one being emitted */
    Frame *frame;
    Memo *memo;                   /* of the statement and path being emitted */
    LIST(KnownAddress) addresses; /* computed in addresses_block, for the variables' present values */
    LIST(KnownDivisor) divisors;  /* computed in divisors_block, while only stores follow each other */
    LLVMBasicBlockRef addresses_block, divisors_block;
    Map accesses;             /* Stmt that allocates registers -> Accesses */
    Map placements;           /* Stmt that allocates -> Placement: where the kernel's temporaries go */
    Map slices;               /* Stmt of a parallel loop -> Slices: its threads' temporaries */
    Map shared;               /* SharedNest -> SharedCode */
    Map passed;               /* values that runs of them get -> where each is kept for that (shared.c) */
    bool many_runs;           /* of them */
    Map shared_places;        /* Stmt that runs one -> LLVMValueRef *: where its temporaries begin, in bytes */
    LIST(Constant) constants; /* of the module */
    LIST(AddedConstant) added;
    Map constants_by_tensor; /* Tensor -> LLVMValueRef */
    Map checked;             /* Stmt of a check already emitted at the entry */
    int outlined_count;      /* loops that are functions so far, for names */
    bool has_twin;           /* the kernel is one of two that differ in packed arguments */
    bool nests_apart;        /* the kernel's long nests are functions */
    Map instrs;              /* Instr -> its function */
    bool inlines;            /* some functions that the source gave are to be inlined */
    int lanes_chosen;        /* of the kernel so far, in rows under masks that no instruction has */
    int functions_placed;    /* of the kernel so far, registers of math functions in place */
    int lanes_converted;     /* of the kernel so far, to half and back, where no instruction does it */
    const char *problem;     /* what is wrong with such a function, or NULL */
    struct DebugInfo *debug;
} Code;

/* --- llvm/types.c --- */

int padded_lanes(int lanes); /* the next power of two */
LLVMTypeRef value_type(Code *code, ElementType type, int lanes);
LLVMTypeRef memory_type(Code *code, ElementType type);
LLVMTypeRef vector_of(LLVMTypeRef scalar, int lanes); /* scalar itself for 1 lane; exactly so many lanes */
int lanes_of(LLVMValueRef value);
unsigned type_bits(LLVMTypeRef type); /* of all lanes; 0: it is no number */
LLVMTypeRef type_like(LLVMTypeRef scalar, LLVMValueRef value); /* a scalar or vector of as many lanes as value */
/* The constant in every lane of the type. */
LLVMValueRef constant_int(LLVMTypeRef type, int64_t value);
LLVMValueRef constant_real(LLVMTypeRef type, double value);
LLVMValueRef index_constant(Code *code, int64_t value);
LLVMValueRef iota(LLVMTypeRef element, int lanes);                   /* 0, 1, 2, ... */
LLVMValueRef emit_splat(Code *code, LLVMValueRef scalar, int lanes); /* into padded_lanes(lanes) */
/* A shuffle: lane i of the result is lane indices[i] of a and b together; -1: any value. b may be NULL. */
LLVMValueRef emit_shuffle(Code *code, LLVMValueRef a, LLVMValueRef b, const int *indices, int count);
LLVMValueRef emit_lanes(Code *code, LLVMValueRef value, int first, int count); /* some of its lanes, as a vector */
LLVMValueRef emit_joined(Code *code, LLVMValueRef low, LLVMValueRef high);     /* both have the same number of lanes */
LLVMValueRef emit_resized(Code *code, LLVMValueRef value, int lanes); /* changes the number of lanes at the end */
/* An i1 for each lane: true in the first `real` of `lanes`. */
LLVMValueRef lane_mask(Code *code, int real, int lanes);
LLVMValueRef emit_intrinsic(Code *code, const char *name, LLVMTypeRef *overloads, int overload_count,
                            LLVMValueRef *args, int count);
LLVMValueRef unary_intrinsic(Code *code, const char *name, LLVMValueRef a); /* overloaded on the type of a */
LLVMValueRef binary_intrinsic(Code *code, const char *name, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef multiply_add(Code *code, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c); /* fused where that is fast */
LLVMValueRef bits_of(Code *code, LLVMValueRef real);                                   /* integer of the same size */
LLVMValueRef real_of(Code *code, LLVMValueRef bits, LLVMTypeRef scalar);               /* and back */
LLVMValueRef emit_call(Code *code, LLVMValueRef function, LLVMValueRef *args, int count);
/* A function outside the module; declared on first use. */
LLVMValueRef external_function(Code *code, const char *name, LLVMTypeRef result, LLVMTypeRef *parameters, int count);

/* --- llvm/constants.c --- */

LLVMValueRef constant_pointer(Code *code, const Tensor *tensor); /* of a ROLE_CONSTANT tensor; made at the first read */
/* Adds the contents that the module left out to the malloc'ed object. False: memory is out, the object is unchanged. */
bool add_constants(const Code *code, char **object, size_t *bytes);

/* What was emitted of a kernel. */
typedef struct Emitted {
    LLVMValueRef function; /* has the code */
    LLVMValueRef size;     /* tells the bytes of the workspace; NULL in a candidate */
    bool workspace;        /* the function takes one, in front of the sizes */
} Emitted;

/* --- llvm/blocks.c --- */

int instruction_count(LLVMValueRef function);
void cut_long_blocks(LLVMModuleRef module, const Target *target); /* which no pass goes through any more */

/* --- llvm/partitions.c --- */

int64_t instructions_to_share(const Code *code); /* of the module; 0: it is generated as a whole, as most are */
/* The object of the optimized module, partition by partition: malloc'ed. NULL: *why. The module is of no more use.
 * *diagnosed is what LLVM's diagnostics reported, or NULL. */
char *generate_partitions(const Code *code, LLVMTargetMachineRef machine, int64_t instructions, char *const *diagnosed,
                          size_t *bytes, const char **why);

/* --- llvm/emit.c --- */

/* NULL, or what LLVM said, for LLVMDisposeMessage. */
char *run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *pipeline);

/* --- llvm/entries.c --- */

/* Sets emitted->size and emitted->workspace. variants: what was emitted of the kernel's variants. */
void emit_workspace_size(Code *code, const Kernel *kernel, const Emitted *variants, Emitted *emitted);
/* int64_t NAME(sizes...) under construction: its frame is open, its sizes are bound. */
LLVMValueRef open_size_function(Code *code, const Program *program, const char *name);
/* For sizes that the function refuses its result is this: return_status goes there from here on. */
void refuse_with(Code *code, const Program *program, int64_t result);
LLVMValueRef emit_other_way(Code *code, const Program *program, const Emitted *emitted, const char *name);
void emit_entry(Code *code, const Program *program, LLVMValueRef function);

/* --- llvm/packed.c --- */

LLVMValueRef emit_packed_size(Code *code, const Packing *packing); /* the function that also says what is refused */
/* NAME_packed_size, NAME_pack_all, NAME_packed_all and NAME_packed_all_in, of functions that exist already: sizes has
 * what emit_packed_size returned for each packing. */
void emit_packed_together(Code *code, const Kernel *kernel, const LLVMValueRef *sizes);

/* --- llvm/function.c --- */

/* NAME, NAME_in or NAME_workspace_size of a kernel that was emitted. */
LLVMValueRef function_named(Code *code, const char *symbol, const char *ending);
void set_target_attributes(Code *code, LLVMValueRef function);
LLVMValueRef internal_function(Code *code, const char *name, LLVMTypeRef type); /* of the module alone */
/* The tensor's memory is where this parameter of the open frame's function points to, and no other one. */
void bind_parameter(Code *code, const Tensor *tensor, unsigned parameter);
void add_attribute(Code *code, LLVMValueRef function, unsigned index, const char *name);
void add_call_attribute(Code *code, LLVMValueRef call, const char *name);
Frame *frame_open(Code *code, LLVMValueRef function); /* moves the builder to its first block */
void frame_close(Code *code);                         /* the caller moves the builder back */
/* A function of the module's own, which is called and never inlined, for sequences that stand in many places: it has
 * no lines of the source, and no value of its callers. What is emitted between open and close is its body, which ends
 * with a return. */
typedef struct Apart {
    LLVMValueRef function;
    LLVMBasicBlockRef at;
    LLVMMetadataRef line;
    Memo *memo;
} Apart;
Apart apart_open(Code *code, const char *name, LLVMTypeRef type);
LLVMValueRef apart_close(Code *code, const Apart *apart); /* the function; the builder is where it was */
/* Besides constants it touches no memory, or that which its arguments point to. LLVM's numbers for it. */
typedef enum ApartMemory { APART_NO_MEMORY = 0, APART_READS = 1, APART_WRITES = 3 } ApartMemory;
void apart_touches(Code *code, const Apart *apart, ApartMemory memory);
LLVMBasicBlockRef new_block(Code *code, const char *name);
LLVMValueRef entry_alloca(Code *code, LLVMTypeRef type, int alignment, const char *name);
/* The same address or number, hidden from LLVM's optimizer; usable from the function's first block on. */
LLVMValueRef unknown_value(Code *code, LLVMValueRef value);
/* Assembly without an instruction: what its constraints say of the value (NULL: none) and the result holds there.
 * stays: also where nothing needs the result. */
LLVMValueRef emit_empty_assembly(Code *code, const char *constraints, LLVMTypeRef result, LLVMValueRef value,
                                 bool stays);
LLVMValueRef variable_value(Code *code, const Var *var);
void bind_variable(Code *code, const Var *var, LLVMValueRef value);
/* The tensor whose memory it names: initial values lie where the result will. */
const Tensor *tensor_in_memory(const Tensor *tensor);
Buffer *buffer_of(Code *code, const Tensor *tensor);
bool folds_constant(const Tensor *tensor); /* whether it is so small that its elements may become numbers */
/* The index, counted from the element that the buffer's pointer is at. */
Expr *index_in_buffer(Code *code, const Buffer *buffer, Expr *index);
void bind_buffer(Code *code, const Tensor *tensor, LLVMValueRef pointer);
void return_status(Code *code, LLVMValueRef status);  /* leaves the function; the builder has no block afterwards */
void emit_function(Code *code, const Kernel *kernel); /* all functions of the kernel */

/* --- for small functions beside one that has the code --- */

void begin_kernel(Code *code, const Kernel *kernel); /* before any function of it */
/* Of (workspace, sizes..., arguments...), the first one if there is a workspace. There is space for one more. */
LLVMTypeRef *parameter_types(Code *code, const Program *program, bool workspace, int *count);
void bind_sizes(Code *code, const Program *program); /* they are parameters, behind the leading ones */
void refuse_negative_sizes(Code *code, const Program *program);
/* if (the sizes are the variant's) {: returns where to go on, with the sizes that the variant takes in *sizes. */
LLVMBasicBlockRef variant_begin(Code *code, const Program *program, const Variant *variant, LLVMValueRef *sizes);

/* for i in low:high, both i64. Between begin and end the builder is in the body. */
typedef struct LoopBlocks {
    LLVMBasicBlockRef body, leave;
    LLVMValueRef index, high;
} LoopBlocks;
LoopBlocks loop_begin(Code *code, LLVMValueRef low, LLVMValueRef high, const char *name);
void loop_end(Code *code, const LoopBlocks *loop);
void forget_values(Code *code); /* what follows shares no values with what came before */
/* if (condition) { ... } with values: a phi of both paths. */
typedef struct Branch {
    LLVMBasicBlockRef otherwise, join, then_end, other_end;
    Memo *memo;
} Branch;
Branch branch_begin(Code *code, LLVMValueRef condition);
void branch_else(Code *code, Branch *branch);
void branch_end(Code *code, Branch *branch);
LLVMValueRef branch_phi(Code *code, const Branch *branch, LLVMValueRef then_value, LLVMValueRef else_value);

/* --- values --- */

LLVMValueRef emit_value(Code *code, const Expr *e);
void forget_divisors(Code *code, const Tensor *tensor); /* those read from the tensor; NULL: all */
/* An operator on values that exist already, math functions included; type: of the operands. */
LLVMValueRef emit_operator(Code *code, Op op, ElementType type, LLVMValueRef *args);
/* Integer division or modulo; uses what is known of the divisor and of the dividend's sign. */
LLVMValueRef emit_division(Code *code, const Expr *e, LLVMValueRef a, LLVMValueRef b);
/* The C library's function, lane by lane. */
LLVMValueRef call_by_lane(Code *code, Op op, LLVMValueRef *args);
LLVMValueRef emit_math(Code *code, Op op, ElementType type, LLVMValueRef *args);
/* A sequence of instructions for float or double, or NULL where there is none. */
LLVMValueRef emit_function_of_reals(Code *code, Op op, bool wide, LLVMValueRef *args);
LLVMValueRef emit_conversion(Code *code, LLVMValueRef value, ElementType from, ElementType to);
/* For a float that is NaN or in the range of the integers, of 8 or 16 bits. */
LLVMValueRef emit_fitting_conversion(Code *code, LLVMValueRef value, ElementType to);
LLVMValueRef round_to(Code *code, LLVMValueRef value, ElementType type); /* a float to what half or bfloat16 can hold */
LLVMValueRef round_double_to(Code *code, LLVMValueRef value, ElementType type); /* a double, rounded once */
LLVMValueRef from_memory(Code *code, LLVMValueRef value, ElementType type);
LLVMValueRef to_memory(Code *code, LLVMValueRef value, ElementType type);

/* --- instructions of the source (llvm/instr.c) --- */

LLVMValueRef emit_instr(Code *code, const Expr *e);
LLVMValueRef emit_repeat(Code *code, const Expr *e);

/* --- memory --- */

LLVMValueRef emit_read(Code *code, const Expr *e);
LLVMValueRef emit_stored_read(Code *code, const Expr *e); /* its lanes in their memory form */
void emit_store(Code *code, const Stmt *stmt);
void emit_stores_together(Code *code, const Stmt *stmt); /* for a STMT_TOGETHER */

/* --- llvm/shuffle.c --- */

/* Whether a value is what reads found, at most with other lanes. */
bool is_copied(Code *code, const Expr *e);
LLVMValueRef emit_stored(Code *code, const Expr *e); /* a copied value, its lanes in their memory form */
LLVMValueRef emit_shuffled(Code *code, const Expr *e);

/* --- llvm/masks.c --- */

/* The lanes of one access. */
typedef struct LanesInMemory {
    LLVMTypeRef type; /* of an element in memory */
    int alignment;    /* also its size in bytes */
    int count;        /* real lanes */
} LanesInMemory;

/* Whether masks are numbers: then those of the first lanes are made as numbers, and need no vector register before
 * their use. */
bool has_mask_numbers(const Code *code, int lanes);
/* A constant mask inside loops, where masks have registers: made once, hidden from LLVM's optimizer. LLVM would make
 * the constant in each iteration, and every load would wait for it. */
LLVMValueRef held_mask(Code *code, LLVMValueRef mask);
bool has_masked_access(const Code *code, int bytes); /* whether instructions load and store elements under a mask */
bool has_gathers(const Code *code, int bytes);       /* or gather and scatter them */
LLVMValueRef zeros_to_read(Code *code, int bytes);   /* zeros, which reads outside a tensor read instead */
/* The same for masked loads. One without lanes takes very long where nothing has touched the page: so the function
 * touches it where it begins. */
LLVMValueRef zeros_under_mask(Code *code, int bytes);
/* One address for each lane. mask: NULL for all lanes; lanes that it leaves out are 0. */
LLVMValueRef load_each_lane(Code *code, const LanesInMemory *lanes, LLVMValueRef addresses, LLVMValueRef mask);
void store_each_lane(Code *code, const LanesInMemory *lanes, LLVMValueRef addresses, LLVMValueRef mask,
                     LLVMValueRef vector);
/* Contiguous lanes from an address on. A scalar condition (or NULL) holds for all lanes, the mask for each. */
LLVMValueRef load_row_by_lane(Code *code, const LanesInMemory *lanes, LLVMValueRef address, LLVMValueRef condition,
                              LLVMValueRef mask);
void store_row_by_lane(Code *code, const LanesInMemory *lanes, LLVMValueRef address, LLVMValueRef mask,
                       LLVMValueRef vector);

/* --- llvm/registers.c --- */

/* Register buffers: all accesses in the allocation's statements decide how a buffer is cut into vectors. */
struct Registers *registers_new(Code *code, const Stmt *allocation);
/* Whether they hold the bytes that memory would hold, not values. */
bool registers_hold_memory(const struct Registers *registers);
LLVMValueRef registers_read(Code *code, struct Registers *registers, const Expr *index, int lanes);
void registers_write(Code *code, struct Registers *registers, const Expr *index, LLVMValueRef value, int lanes);

typedef struct Placement {
    bool stack;
    LLVMValueRef offset;  /* bytes from the frame's heap, when not on the stack */
    LLVMValueRef address; /* in a nest apart: its parameter; else NULL */
} Placement;
typedef struct Slices {
    LLVMValueRef offset, bytes, count; /* first byte, bytes of one slice, how many slices */
} Slices;
/* A shared nest (llvm/shared.c). Places of its temporaries are counted from an address that its function gets. */
typedef struct SharedCode {
    LLVMValueRef bytes;          /* of its temporaries */
    LIST(LLVMValueRef *) places; /* those, and what slices take: all that lies at run-time places is passed */
    LLVMValueRef function;       /* NULL: it was not run yet */
    LIST(LLVMValueRef) values;   /* passed at each run, before its own tensors and numbers */
} SharedCode;
void emit_shared_nest(Code *code, const Stmt *stmt);

/* Decides where each temporary lives. The bytes that they need at run time, a multiple of the alignment, TOO_MANY_BYTES
 * if they are no number; NULL: none. The frame's sizes are checked, and its workspace is set. */
LLVMValueRef temporary_bytes(Code *code, const Stmt *body);
/* The same, takes the memory (status NO_MEMORY if there is none) and sets the frame's heap. */
void take_temporaries(Code *code, const Stmt *body);
void give_temporaries(Code *code);

/* --- llvm/runtime.c --- */

#define TOO_MANY_BYTES (INT64_MAX & -DATA_ALIGNMENT)
/* Extra bytes of a workspace: it may begin anywhere. */
enum { WORKSPACE_SLACK = DATA_ALIGNMENT - 1 };
/* Aligned memory of so many bytes, in the workspace if that is not null; null: there is none. */
LLVMValueRef emit_take(Code *code, LLVMValueRef workspace, LLVMValueRef bytes);
void emit_give(Code *code, LLVMValueRef workspace, LLVMValueRef memory);
/* Runs range(closure, begin, end) for parts of the extent in so many threads (0: all there are), at most some. */
void emit_parallel(Code *code, LLVMValueRef range, LLVMValueRef closure, LLVMValueRef extent, LLVMValueRef threads,
                   LLVMValueRef most);
LLVMValueRef emit_thread_count(Code *code); /* of parallel loops, i64; the same as long as the program runs */
void bring_runtime(Code *code);             /* the module gets the parts of the runtime that its functions call */

/* --- statements --- */

void emit_statement(Code *code, const Stmt *stmt);
void bind_registers(Code *code, const Stmt *allocation);                                  /* in the open frame */
void bind_temporary(Code *code, const Tensor *tensor, const struct Placement *placement); /* in the open frame */
void emit_statements(Code *code, Stmt *const *statements, int count);
void emit_early_checks(Code *code, const Stmt *body); /* checks of sizes, before anything is allocated */
void emit_parallel_loop(Code *code, const Stmt *stmt);
/* Whether a serial nest becomes a function that the kernel's twin may call too. */
bool is_long_kernel(const Kernel *kernel);
bool has_many_runs(const Kernel *kernel); /* of shared nests */
/* Whether a loop, or one that is alone in allocations of registers, is a function: emit_nest_apart makes and calls
 * it. */
bool is_nest_apart(const Code *code, const Stmt *stmt);
void emit_nest_apart(Code *code, const Stmt *stmt);

/* --- launch.c --- */

/* Closures of parallel loops begin with these fields. */
enum { CLOSURE_EXTENT, CLOSURE_STATUS, CLOSURE_RANGE, CLOSURE_VALUES };
LLVMTypeRef closure_head_type(Code *code);
/* void (closure, work): calls the range (closure, begin, end) for all of the extent, in threads where that pays. */
LLVMValueRef launch_function(Code *code);
/* Where part p of n begins; the first extent % n parts have one value more. */
LLVMValueRef part_begin(Code *code, LLVMValueRef extent, LLVMValueRef part, LLVMValueRef parts);

/* --- debug information --- */

void debug_open(Code *code);
void debug_function(Code *code, LLVMValueRef function, const char *name, Loc loc);
void debug_location(Code *code, Loc loc);
void debug_close(Code *code);

#endif
