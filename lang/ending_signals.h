/* ending_signals.h - the signals by which people and systems ask a program to end. */
#ifndef LANG_ENDING_SIGNALS_H
#define LANG_ENDING_SIGNALS_H

#include <signal.h>

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

#endif
