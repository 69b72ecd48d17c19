/* grouping.h - what is known of each stage while stages are divided into groups; what groups.c asks of inline.c and
 * absorb.c. Private to these three. */
#ifndef AUTOSCHED_SPACE_GROUPING_H
#define AUTOSCHED_SPACE_GROUPING_H

#include "autosched/space/groups.h"

typedef struct StageUses {
    const Stage *stage;
    bool inlined, grouped;
    bool output;         /* or what readers do not take in, as if it were one */
    const Scan *scan;    /* the scan that computes it, unless it was taken out */
    bool reads_initial;  /* reads what a caller's buffer held: computed before anything is stored there */
    LIST(int) producers; /* the stages that it reads directly */
    LIST(int) readers;   /* the reverse; a stage that reads it twice may be there twice */
    LIST(int) consumers; /* the stages that read it, also through inlined ones */
    LIST(int) sources;   /* the reverse */
} StageUses;

/* Some stages of the program, ascending: groups are short, programs may be long. */
typedef struct Members {
    LIST(int) numbers;
} Members;

typedef struct Grouping {
    Space *space;
    int count;
    StageUses *facts;
} Grouping;

/* --- inline.c --- */

/* What each stage reads, and what is an output. */
void collect_facts(Grouping *grouping);
/* Adds a statement for each stage that is inlined and passes the test `among`; then finds the consumers. */
void inline_stages(Grouping *grouping, bool (*among)(Grouping *grouping, int stage));
bool is_part_of_reader(Grouping *grouping, int stage);
bool is_piped(Grouping *grouping, int stage);
bool is_not_piped(Grouping *grouping, int stage);
void empty_scans(Grouping *grouping);
StageUses *facts_of(Grouping *grouping, const Tensor *tensor);
bool values_use(const Stage *consumer, const Stage *producer);
int value_effort(Space *space, const Stage *stage); /* expr_effort of its first value after inlining */
bool reads_earlier_steps(Grouping *grouping, const StageUses *reader, const StageUses *producer);

/* --- absorb.c --- */

void members_add(Grouping *grouping, Members *members, int stage);
StageUses *find_anchor(Grouping *grouping, const Stage *root, const Members *members);
StageUses *find_row_anchor(Grouping *grouping, const Members *members, int depth);
StageUses *find_chain(Grouping *grouping, const Stage *root, const StageUses *product, Members *members, int *depth);
int absorb_rows(Grouping *grouping, const Stage *root, Members *members);
bool absorb_transforms(Grouping *grouping, const Stage *root, Members *members);
bool absorb_elements(Grouping *grouping, const StageUses *root, Members *members);
bool is_product(const Grouping *grouping, const StageUses *facts);

#endif
