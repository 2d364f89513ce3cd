/*
 * Configuration files for tests, in a folder of their own.
 */
#ifndef TEST_CONFIG_CONFIG_FILE_H
#define TEST_CONFIG_CONFIG_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "digestd/config/configuration.h"

/* Makes an empty folder: group set-up and tear-down of cmocka. */
int config_folder_make(void **state);
int config_folder_remove(void **state);

/* The path of a file in it; valid for the next three calls. */
const char *config_path(const char *name);

/* Writes a file there, in place of what there is. */
void config_write(const char *name, const void *text, size_t len, mode_t mode);

/*
 * Loads a text as the file "conf". %D in it becomes the folder, and so it does
 * in the findings the other way round. Returns as config_load() does.
 */
int config_load_text(const char *text, struct config **out,
		     struct config_errors *findings);

/* The same; what it finds has to be exactly this. */
int config_load_finds(const char *label, const char *text,
		      const char *findings, struct config **out);

#endif
