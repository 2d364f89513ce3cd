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

/* Takes the key that an option gave. */
static void configuration_key_take(struct config *c,
				   const struct config_check *check,
				   const char *option, const char *text)
{
	const char *file = c->cluster_key_file ? c->cluster_key_file : "";
	const char *colon = c->cluster_key_file ? ": " : "";

	c->has_key = configuration_key_parse(text, c->key);
	if (!c->has_key)
		configuration_key_report(check, option,
					 "%s%snot 32 hexadecimal digits", file,
					 colon);
	else if (configuration_key_is_published(c->key))
		configuration_key_report(
			check, option,
			"%s%s%s is the key of a published "
			"example, which everybody has; make one of your "
			"own: openssl rand -hex 16",
			file, colon, published);
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

/*
 * Opens the file; where only root may, and the service manager has handed its
 * contents over as a credential, that.
 */
static FILE *configuration_key_open(struct config *c)
{
	FILE *file = fopen(c->cluster_key_file, "re");
	char *credential;

	if (file || errno != EACCES)
		return file;
	credential = configuration_key_credential_path();
	if (credential) {
		file = fopen(credential, "re");
		free(credential);
	}
	return file;
}

static void configuration_key_read_file(struct config *c,
					const struct config_check *check)
{
	char line[128] = "";
	FILE *file = configuration_key_open(c);

	if (!file) {
		configuration_key_report(check, "cluster_key_file", "%s: %s",
					 c->cluster_key_file, strerror(errno));
		return;
	}
	setvbuf(file, NULL, _IONBF, 0); /* no copy that outlives the file */
	if (configuration_key_check_file(c, check, file)) {
		if (fgets(line, sizeof(line), file)) {
			line[strcspn(line, " \t\r\n")] = '\0';
			configuration_key_take(c, check, "cluster_key_file",
					       line);
		} else {
			configuration_key_report(check, "cluster_key_file",
						 "%s: is empty",
						 c->cluster_key_file);
		}
	}
	explicit_bzero(line, sizeof(line));
	fclose(file);
}

void config_key_load(struct config *c, const struct config_check *check)
{
	static const char needed[] = "needs cluster_key_file or cluster_key, "
				     "the same on all nodes: openssl rand -hex "
				     "16";

	assert(!c->has_key);
	if (!c->cluster_key && !c->cluster_key_file &&
	    (c->listen_peer || c->npeers))
		c->cluster_key_file = configuration_key_credential_path();
	if (c->cluster_key && c->cluster_key_file)
		configuration_key_report(check, "cluster_key",
					 "give this or "
					 "cluster_key_file, not both");
	else if (c->cluster_key_file)
		configuration_key_read_file(c, check);
	else if (c->cluster_key)
		configuration_key_take(c, check, "cluster_key", c->cluster_key);
	else if (c->listen_peer)
		configuration_key_report(check, "listen_peer", "%s", needed);
	else if (c->npeers)
		config_report(check->errors, "%s: peer \"%s\": %s\n",
			      check->path, c->peers[0].name, needed);
}
