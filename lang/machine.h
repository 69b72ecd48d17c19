/* machine.h - what processors do in how much time: rows of machines.def, which targets.def and processors.def name.
 *
 * The cost model and the spaces of schedules read a row through Target; none of them knows a number of a machine. Only
 * ratios matter, since estimates are compared with each other alone. Costs are in cycles where no unit is said, and
 * those of instructions in instructions of the named kind on one whole vector register. Levels of memory: 0 is between
 * the first and the second cache, 1 between the second and the last one, 2 between the last one and memory.
 */
#ifndef LANG_MACHINE_H
#define LANG_MACHINE_H

#include "lang/tensorc.h"

enum { LAST_CACHE = 2 /* a level; all threads share it */, DIVIDED_BYTES = 32 /* what divide_cost is for */ };

struct Machine {
    const char *name, *summary;
    const char *shows, *lacks; /* features by which a computer is known to be one; NULL: by its name, or its level */
    int threads;               /* of a program, where their number is known at run time only */

    /* what one core does in a cycle, in instructions */
    double clock_rate; /* cycles a second */
    double issue_width, arithmetic_ports, load_ports, store_ports;
    double widest_slots; /* cycles of a port that an instruction on the widest registers takes */
    double decoded_most; /* instructions of a body that does not wait for its own decoding */
    int unrolled_most;   /* operations of an unrolled body that the nearest memory of instructions holds */
    int chains;          /* vectors side by side whose operations hide each other's latencies */

    /* what waits */
    double operation_latency; /* of one of several operations that wait for each other */
    double chain_latency;     /* of a multiply-add, and what overlaps badly with it */
    double memory_latency;    /* of an accumulator that is stored and loaded again */
    double entry_cost;        /* until what is computed at a loop has what it waits for */
    double loop_cost;         /* of an iteration of the innermost serial loop */
    double spill_cost;        /* of a vector that has no register, in each step of a reduction */
    double overlap_lost;      /* of the shorter of arithmetic and traffic, the part that the longer does not hide */
    double near_lost;         /* the same of traffic between the first two caches, and of arithmetic beside it */

    /* what takes several instructions */
    double function_cost;     /* arithmetic: of a math function */
    double divide_cost;       /* cycles of the divider for DIVIDED_BYTES of floats; other units go on */
    double guard_cost;        /* of any kind: to make a mask */
    double guarded_step_cost; /* the same in a sum, whose multiply-adds wait for it */
    double gather_cost;       /* loads a lane */
    double insert_cost;       /* arithmetic: of a lane that is inserted, where no instruction gathers such elements */
    double gather_alone;      /* cycles a lane in which nothing else begins; 0: all else goes on */
    double scatter_cost;      /* stores a lane */
    double transpose_cost;    /* loads a vector of a block that is transposed in registers */
    double crossing_cost;     /* loads more, for one that crosses a cache line */
    double line_loads;        /* loads that wait while a line comes into the first cache: it is written meanwhile */
    double column_cost;       /* arithmetic, for a register of columns that an instruction takes by turns */
    double shuffle_excess;    /* arithmetic more, for the shuffles of a register, which fewer ports than these take */

    /* the caches of one core; the last one is all cores' */
    int64_t cache_bytes[3];
    double usable_part[3]; /* of each: others work with them, too */
    double lost_at;        /* of the second one: the part from which on nothing of a loop's body stays in it */
    int line_bytes;
    int set_bytes, set_lines;  /* lines so far apart share a set of the first cache; so many of them stay */
    double bytes_per_cycle[3]; /* by level */
    double written_times[3];   /* by level: moves of what is written: read first, then written back */
    double both_ways;          /* of the less of what memory is read and written for, the part that moves meanwhile */
    double run_start[3];       /* by level: bytes that could move while the prefetch of a run starts */
    double run_near[3];        /* by level: bytes that are all touched soon, in whatever order */
    double most_started[2];    /* times of a run's bytes that starting costs at most: what is read, what is written */
    int streams;               /* runs that are prefetched side by side */
    double stream_bytes;       /* the least of a run that is */
    int sum_streams;           /* runs side by side that the sum of long rows is faster with than with one */
    double excess_missing;     /* of what does not fit into the last cache, what it lacks */
    double memory_part;        /* of the time that memory takes for one thread, what it takes for many */
    double conflict_cost;      /* of a line that is fetched again, for too many fall into its set */
    double scalar_conflict_cost, scalar_conflict_most; /* a line of scalars, by the square of lines too many; at most */

    /* pages, and what was just stored */
    int page_bytes, near_pages; /* near_pages: that the first translation cache holds */
    double page_cost;           /* of a page that it does not hold */
    int known_pages[2];         /* of so many or fewer, the translation caches hold all; of so many or more, none */
    double walk_cost;           /* of a page that they do not hold */
    int alias_bytes;            /* distances, modulo which loads seem to read what was just stored */
    int stores_waiting;         /* stores that such a load waits for */
    double alias_cost;          /* of a load that does; 0: whole addresses are compared */

    /* threads, and the system */
    double edge_cost;       /* where what one thread writes ends and what another one writes begins */
    double foreign_cost;    /* to read and write again a line that another thread has written */
    double fork_seconds;    /* to start the threads of a parallel loop, and to wait for them */
    double fork_operations; /* of arithmetic, that pay for it */
    double fork_test;       /* of fork_seconds, the part that it takes to find that a loop has too little work */
    double fault_seconds;   /* a page that is touched for the first time */
};

typedef enum MachineModel {
#define MACHINE(name, ...) MACHINE_##name,
#include "lang/machines.def"
#undef MACHINE
    MACHINE_COUNT
} MachineModel;

extern const Machine machines[MACHINE_COUNT];

#endif
