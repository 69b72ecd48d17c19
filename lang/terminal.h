/* terminal.h - all that tensorc prints for people: messages on standard error, reports on standard output.
 *
 * What comes from outside (sources, names of files and targets, options, records, errors of libraries) may hold any
 * bytes. They leave as text that no terminal takes for commands: what is no printable character of UTF-8 is written
 * \x1B, byte by byte, or \u202E. With -fdiagnostics-format=json all of standard error is one JSON array: what is no
 * diagnostic becomes an element of it. That, like the stream, is of the process.
 */
#ifndef LANG_TERMINAL_H
#define LANG_TERMINAL_H

#include "lang/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The length of the character of UTF-8 at the first of `length` bytes, and its number; 0: there is none. */
size_t utf8_character(const char *bytes, size_t length, uint32_t *number);
/* How a character is shown, or a byte that begins none: escaped, or as it is. Returns how many bytes of the text it
 * takes. */
enum { SHOWN_BYTES = 12 };
size_t shown_character(const char *bytes, size_t length, char shown[SHOWN_BYTES]);
/* A whole text in that way; a name or another text that stands on one line: its line ends and tabs escaped too. */
const char *shown_text(Arena *arena, const char *text);
const char *shown_line(Arena *arena, const char *text);

/* Prints what was formatted, in that way, with its line ends and tabs. */
void show(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One line "tensorc: error: ...": the id is that of its element in JSON. */
void show_error(const char *id, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "tensorc: internal error: ...", the last words of the process. */
void show_internal_error(const char *message);
void show_error_list(const char *id, const char *ending, const char *format, va_list arguments);

/* --- JSON --- */

/* The text in quotes, as UTF-8: what is none becomes U+FFFD. */
void json_string(FILE *stream, const char *text);
/* Opens the array that everything shown on the stream goes to; false: it is open already. */
bool json_open(FILE *stream);
bool json_is_open(void);
/* Begins the next element: whatever separates it from the one before is written. */
void json_next(FILE *stream);
void json_close(void);

#endif
