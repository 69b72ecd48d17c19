/* diag.h - diagnostics: errors, warnings, notes and hints with their places.
 *
 * Every message that a user can meet is one row of diagnostics.def: DIAGNOSTIC(id, SEVERITY, "format"). A test checks
 * that each row has a golden example. Arguments follow the row's printf format.
 */
#ifndef LANG_DIAG_H
#define LANG_DIAG_H

#include "lang/source.h"
#include <stdio.h>

/* WARNING_ALL: a warning that is shown under -Wall alone. */
typedef enum Severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_WARNING_ALL, SEVERITY_NOTE, SEVERITY_HINT } Severity;

typedef enum DiagId {
#define DIAGNOSTIC(id, severity, format) DIAG_##id,
#include "lang/diagnostics.def"
#undef DIAGNOSTIC
    DIAG_COUNT
} DiagId;

enum { DIAGNOSTIC_ERROR_LIMIT = 20 };

typedef struct Diagnostics Diagnostics;

/* warnings: print them (-Wall adds the ones marked so; -w drops all); warnings_are_errors: -Werror. json: see main
 * page. */
typedef struct DiagOptions {
    bool json, warnings_are_errors, all_warnings, no_warnings;
    bool silent;  /* errors are counted, nothing is printed */
    FILE *stream; /* stderr when NULL */
} DiagOptions;

Diagnostics *diag_new(Arena *arena, Sources *sources, DiagOptions options);
/* Reports at a place. After DIAGNOSTIC_ERROR_LIMIT errors further ones are counted, not shown, and a last line says so.
 */
void diag(Diagnostics *diagnostics, DiagId id, Loc loc, ...);
/* Attach to the diagnostic that was reported last (dropped when that one was). */
void diag_note(Diagnostics *diagnostics, Loc loc, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_hint(Diagnostics *diagnostics, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Until it is taken away (NULL), errors and warnings outside of the place end with this note, after their own ones. */
void diag_context(Diagnostics *diagnostics, Loc loc, const char *text);
int diag_error_count(const Diagnostics *diagnostics);
/* While muted nothing is reported or counted: for looking at something twice. Returns what it was. */
bool diag_mute(Diagnostics *diagnostics, bool muted);
bool diag_limit_reached(const Diagnostics *diagnostics);
/* Prints what is pending (the JSON array, the "too many errors" line). Call once, at the end; returns the error count.
 */
int diag_finish(Diagnostics *diagnostics);

/* Prints "tensorc: internal error: ..." and exits with status 3. */
_Noreturn void internal_error(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define INTERNAL_ERROR(...) internal_error(__FILE__, __LINE__, __VA_ARGS__)
#define ENSURE(condition) ((condition) ? (void)0 : INTERNAL_ERROR("%s", #condition))

#endif
