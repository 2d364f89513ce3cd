/*
 * Configuration files for tests.
 */
#include "tests/config/config_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit.h"

static char folder[] = "/tmp/scd-test-config-XXXXXX";

int config_folder_make(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

int config_folder_remove(void **state)
{
	DIR *d = opendir(folder);
	const struct dirent *e;

	(void)state;
	while (d && (e = readdir(d)))
		unlink(config_path(e->d_name));
	if (d)
		closedir(d);
	return rmdir(folder);
}

const char *config_path(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

void config_write(const char *name, const void *text, size_t len, mode_t mode)
{
	int fd = open(config_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* Copies a text with `with` in place of `what`. */
static void replace(const char *text, const char *what, const char *with,
		    char *out, size_t cap)
{
	const char *at;
	size_t len = 0;

	*out = '\0';
	while ((at = strstr(text, what))) {
		len += (size_t)snprintf(out + len, cap - len, "%.*s%s",
					(int)(at - text), text, with);
		assert_true(len < cap);
		text = at + strlen(what);
	}
	assert_true(len + strlen(text) < cap);
	memcpy(out + len, text, strlen(text) + 1);
}

int config_load_text(const char *text, struct config **out,
		     struct config_errors *findings)
{
	static char file[65536];
	struct config_errors raw;
	int err;

	replace(text, "%D", folder, file, sizeof(file));
	config_write("conf", file, strlen(file), 0600);
	err = config_load(config_path("conf"), out, &raw);
	replace(raw.text, folder, "%D", findings->text,
		sizeof(findings->text));
	findings->len = raw.len;
	return err;
}

int config_load_finds(const char *label, const char *text,
		      const char *findings, struct config **out)
{
	struct config_errors got;
	int err = config_load_text(text, out, &got);

	if (strcmp(got.text, findings) != 0)
		fail_msg("%s: found\n%s, not\n%s", label, got.text, findings);
	return err;
}
