/*
 * Opening what a configuration names as a file.
 */
#ifndef DIGESTD_OS_PLAIN_FILE_H
#define DIGESTD_OS_PLAIN_FILE_H

#include <stdio.h>

/*
 * To be read; a link is followed. Null: *error says why. Nothing but a file
 * will do, and nothing is waited for: a pipe would stop who reads it, such as a
 * daemon with clients that reads its configuration again, until there is
 * somebody at its other end.
 */
FILE *plain_file_open(const char *path, const char **error);

#endif
