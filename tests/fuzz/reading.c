/* reading.c - what inputs that are parsed are read with. */
#include "target.h"
#include <stdlib.h>

void reading_begin(Reading *reading, Arena *arena) {
    *reading = (Reading){.sources.arena = arena};
    reading->stream = open_memstream(&reading->messages, &reading->length);
    reading->diagnostics = diag_new(arena, &reading->sources, (DiagOptions){.stream = reading->stream});
}

void reading_end(Reading *reading) {
    diag_finish(reading->diagnostics);
    fclose(reading->stream);
    free(reading->messages);
}
