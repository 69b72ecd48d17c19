/* nest_report.c - a refused primitive as a diagnostic. */
#include "lower/nest.h"

bool nest_report(Diagnostics *diagnostics, const NestError *error) {
    diag(diagnostics, DIAG_schedule_rule, error->loc, error->rule);
    diag_note(diagnostics, (Loc){0}, "the loop nest before this statement:\n%s", error->nest);
    for (int i = 0; i < error->alternative_count; i++)
        diag_hint(diagnostics, "legal here: %s", error->alternatives[i]);
    return false;
}
