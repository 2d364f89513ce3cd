/*
 * The cluster key. Whoever has it can read what a cluster holds, and can make
 * its nodes believe what he likes: so a file that others can read is refused,
 * as ssh refuses such a private key, and so is a key that was published.
 *
 * A file of root's may be readable by its group: that is how a service without
 * root's rights is given one, by systemd's credentials too, whose access list
 * shows as the mode of the group.
 */
#include "digestd/config/configuration_key.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/config/configuration_check.h"
#include "digestd/http/hexdigit.h"

/* What earlier examples had, and is in use where they were copied. */
static const char published[] = "00112233445566778899aabbccddeeff";

__attribute__((format(printf, 3, 4))) static void
configuration_key_report(const struct config_check *check, const char *option,
			 const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	config_report_option(check, option, check->errors);
	config_report(check->errors, "%s\n", text);
}

static bool configuration_key_parse(const char *text,
				    uint8_t key[SCD_SECRET_BYTES])
{
	for (unsigned i = 0; i < SCD_SECRET_BYTES; i++) {
		int high = hexdigit_value(text[2 * i]);
		int low = high < 0 ? -1 : hexdigit_value(text[2 * i + 1]);

		if (low < 0)
			return false;
		key[i] = (uint8_t)(high << 4 | low);
	}
	return !text[2 * SCD_SECRET_BYTES];
}

static bool configuration_key_is_published(const uint8_t key[SCD_SECRET_BYTES])
{
	uint8_t known[SCD_SECRET_BYTES];

	return configuration_key_parse(published, known) &&
	       !memcmp(key, known, sizeof(known));
}

/* Where a key stands, for what is said of it. */
struct key_place {
	const struct config_check *check;
	const char *option;
	const char *file; /* null: in the configuration itself */
	unsigned line;    /* of the file */
};

__attribute__((format(printf, 2, 3))) static void
configuration_key_refuse(const struct key_place *at, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (at->file)
		configuration_key_report(at->check, at->option, "%s:%u: %s",
					 at->file, at->line, text);
	else
		configuration_key_report(at->check, at->option, "%s", text);
}

/* There is none; the service manager's copy is made of another file. */
static void configuration_key_miss(const struct key_place *at, const char *why)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	bool copy = folder && !strncmp(at->file, folder, strlen(folder));

	configuration_key_report(at->check, at->option, "%s: %s; make one, the "
				 "same for all nodes: (umask 077; openssl rand "
				 "-hex 16 >%s)", at->file, why,
				 copy ? "/etc/digestd.key" : at->file);
}

/* Reads the key that stands there; false: it is none that may be used. */
static bool configuration_key_take(const struct key_place *at, const char *text,
				   uint8_t key[SCD_SECRET_BYTES])
{
	if (!configuration_key_parse(text, key))
		configuration_key_refuse(at, "not 32 hexadecimal digits");
	else if (configuration_key_is_published(key))
		configuration_key_refuse(
			at, "%s is the key of a published example, which "
			"everybody has; make one of your own: openssl rand "
			"-hex 16", published);
	else
		return true;
	return false;
}

/* One more that is taken from peers. */
static void configuration_key_add(struct config *c, const struct key_place *at,
				  const char *text)
{
	if (c->nkeys == CONFIG_KEYS_MAX)
		configuration_key_refuse(at, "more than %d keys",
					 CONFIG_KEYS_MAX);
	else if (configuration_key_take(at, text, c->keys[c->nkeys]))
		c->nkeys++;
}

static bool configuration_key_file_is_private(const struct stat *st)
{
	mode_t allowed = st->st_uid == 0 ? S_IRWXU | S_IRGRP : S_IRWXU;

	return !(st->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO) & ~allowed);
}

static bool configuration_key_check_file(const struct config *c,
					 const struct config_check *check,
					 FILE *file)
{
	struct stat st;

	if (fstat(fileno(file), &st)) {
		configuration_key_report(check, "cluster_key_file", "%s: %s",
					 c->cluster_key_file, strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		configuration_key_report(check, "cluster_key_file",
					 "%s: not a regular file",
					 c->cluster_key_file);
		return false;
	}
	if (configuration_key_file_is_private(&st))
		return true;
	configuration_key_report(check, "cluster_key_file",
				 "%s: mode %04o lets others read "
				 "or write it; chmod 600 %s",
				 c->cluster_key_file,
				 (unsigned)st.st_mode & 07777,
				 c->cluster_key_file);
	return false;
}

/* Where LoadCredential= of digestd.service puts the key; null: nowhere. */
static char *configuration_key_credential_path(void)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char path[4096];

	if (!folder)
		return NULL;
	snprintf(path, sizeof(path), "%s/cluster.key", folder);
	return access(path, F_OK) ? NULL : strdup(path);
}

/* A pipe does not wait for its other end: a daemon that reads its configuration
 * again has clients. */
static FILE *configuration_key_open_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/*
 * Opens the file; where only root may, and the service manager has handed its
 * contents over as a credential, that.
 */
static FILE *configuration_key_open(struct config *c)
{
	FILE *file = configuration_key_open_path(c->cluster_key_file);
	char *credential;

	if (file || errno != EACCES)
		return file;
	credential = configuration_key_credential_path();
	if (credential) {
		file = configuration_key_open_path(credential);
		free(credential);
	}
	return file;
}

/* Cuts the next word off a line. */
static char *configuration_key_next_word(char **line)
{
	static const char blanks[] = " \t\r\n";
	char *word = *line + strspn(*line, blanks);
	char *rest = word + strcspn(word, blanks);

	if (*rest)
		*rest++ = '\0';
	*line = rest;
	return word;
}

/* A line of a key file: a key, "hash" and a key, or nothing; what follows a #
 * is a comment. *hashes: the file has said by which key keys are made. */
static void configuration_key_read_line(struct config *c,
					const struct key_place *at, char *line,
					bool *hashes)
{
	bool hash;
	char *word;

	line[strcspn(line, "#")] = '\0';
	word = configuration_key_next_word(&line);
	if (!*word)
		return;
	hash = !strcmp(word, "hash");
	if (hash)
		word = configuration_key_next_word(&line);
	if (*configuration_key_next_word(&line))
		configuration_key_refuse(at, "something follows the key; each "
					 "line has one key, and a comment "
					 "begins with #");
	else if (!hash)
		configuration_key_add(c, at, word);
	else if (*hashes)
		configuration_key_refuse(at, "a second line \"hash\"");
	else
		*hashes = configuration_key_take(at, word, c->hash_key);
}

static void configuration_key_read_lines(struct config *c,
					 struct key_place *at, FILE *file)
{
	char line[1024];
	bool hashes = false;

	while (fgets(line, sizeof(line), file)) {
		at->line++;
		configuration_key_read_line(c, at, line, &hashes);
	}
	explicit_bzero(line, sizeof(line));
	if (!c->nkeys && !at->check->errors->len)
		configuration_key_miss(at, "has no key");
	if (!hashes)
		memcpy(c->hash_key, c->keys[0], sizeof(c->hash_key));
}

static void configuration_key_read_file(struct config *c,
					const struct config_check *check)
{
	struct key_place at = { check, "cluster_key_file", c->cluster_key_file,
				0 };
	FILE *file = configuration_key_open(c);

	if (!file && errno == ENOENT) {
		configuration_key_miss(&at, strerror(errno));
		return;
	}
	if (!file) {
		configuration_key_report(check, at.option, "%s: %s", at.file,
					 strerror(errno));
		return;
	}
	setvbuf(file, NULL, _IONBF, 0); /* no copy that outlives the file */
	if (configuration_key_check_file(c, check, file))
		configuration_key_read_lines(c, &at, file);
	fclose(file);
}

static void configuration_key_read_option(struct config *c,
					  const struct config_check *check)
{
	const struct key_place at = { check, "cluster_key", NULL, 0 };

	configuration_key_add(c, &at, c->cluster_key);
	memcpy(c->hash_key, c->keys[0], sizeof(c->hash_key));
}

void config_key_load(struct config *c, const struct config_check *check)
{
	static const char needed[] = "needs cluster_key_file or cluster_key, "
				     "the same on all nodes: openssl rand -hex "
				     "16";

	assert(!c->nkeys);
	if (!c->cluster_key && !c->cluster_key_file &&
	    (c->listen_peer || c->members || c->npeers))
		c->cluster_key_file = configuration_key_credential_path();
	if (c->cluster_key && c->cluster_key_file)
		configuration_key_report(check, "cluster_key",
					 "give this or "
					 "cluster_key_file, not both");
	else if (c->cluster_key_file)
		configuration_key_read_file(c, check);
	else if (c->cluster_key)
		configuration_key_read_option(c, check);
	else if (c->listen_peer)
		configuration_key_report(check, "listen_peer", "%s", needed);
	else if (c->members)
		configuration_key_report(check, "members", "%s", needed);
	else if (c->npeers)
		config_report(check->errors, "%s: peer \"%s\": %s\n",
			      c->peers[0].where, c->peers[0].name, needed);
}
