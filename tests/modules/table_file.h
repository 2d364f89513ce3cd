/*
 * A table as digestd shares it, for tests of what maps it: a file in a folder
 * of its own. What time it is, tests/os/still_clock.h says.
 */
#ifndef TESTS_MODULES_TABLE_FILE_H
#define TESTS_MODULES_TABLE_FILE_H

#include <stdint.h>

/* The path where the table is, or will be: of a folder that is made, and
 * removed with what is in it. */
extern char table_file_path[64];
void table_file_begin(void);
void table_file_end(void);

/* Makes an empty table and lets it be what the path names. The one before is
 * left as it is. */
void table_file_put(void);

/* The writer of the table that was put last is there, now; and has left it. */
void table_file_beat(void);
void table_file_retire(void);

/* Peers 0, 1, ... of the table: what each is called, and how far it is [us];
 * null: it may not be asked. And that it has what is at a URL. */
void table_file_name(unsigned peer, const char *name, uint32_t rtt_us);
void table_file_add(unsigned peer, const char *url);

#endif
