/*
 * Listeners at UNIX sockets.
 */
#include "digestd/os/listen_path.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "digestd/os/listen.h"
#include "digestd/os/listen_given.h"

enum { LISTEN_PATH_MODE = 0660 };

static const char listen_path_scheme[] = "unix:";

bool listen_path_is_meant(const char *address)
{
	return address && !strncmp(address, listen_path_scheme,
				   strlen(listen_path_scheme));
}

/* Copies what is neither empty nor too long. */
static bool listen_path_copy(char *to, size_t bytes, const char *from,
			     size_t len)
{
	if (!len || len >= bytes)
		return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

/* As chmod(1) has it, in octal digits. */
static bool listen_path_read_mode(const char *text, size_t len, unsigned *mode)
{
	*mode = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '7')
			return false;
		*mode = *mode * 8 + (unsigned)(text[i] - '0');
		if (*mode > 0777)
			return false;
	}
	return len > 0 && *mode;
}

/* "name=value" of an address; those that stood before it are in *seen. */
static bool listen_path_read_option(const char *text, size_t len,
				    struct listen_path_text *out,
				    unsigned *seen)
{
	static const char *const names[] = { "mode=", "user=", "group=" };
	unsigned i = 0;
	size_t skip;

	while (i < 3 && strncmp(text, names[i], strlen(names[i])) != 0)
		i++;
	if (i == 3 || (*seen & 1u << i))
		return false;
	*seen |= 1u << i;
	skip = strlen(names[i]);
	text += skip;
	len -= skip;
	if (!i)
		return listen_path_read_mode(text, len, &out->mode);
	return listen_path_copy(i == 1 ? out->user : out->group,
				LISTEN_PATH_NAME_BYTES, text, len);
}

bool listen_path_read(const char *address, struct listen_path_text *out)
{
	unsigned seen = 0;
	const char *at;
	size_t len;

	*out = (struct listen_path_text){ .mode = LISTEN_PATH_MODE };
	if (!listen_path_is_meant(address))
		return false;
	at = address + strlen(listen_path_scheme);
	len = strcspn(at, ",");
	if (*at != '/' ||
	    !listen_path_copy(out->path, sizeof(out->path), at, len))
		return false;
	for (at += len; *at; at += len) {
		at++;
		len = strcspn(at, ",");
		if (!listen_path_read_option(at, len, out, &seen))
			return false;
	}
	return true;
}

const char *listen_path_rights(const struct listen_path_text *text,
			       struct listen_local_rights *out)
{
	const struct passwd *user = *text->user ? getpwnam(text->user) : NULL;
	const struct group *group = *text->group ? getgrnam(text->group) : NULL;

	*out = (struct listen_local_rights){
		.mode = text->mode,
		.user = user ? user->pw_uid : (uid_t)-1,
		.group = group ? group->gr_gid : (gid_t)-1,
	};
	if (*text->user && !user)
		return "user";
	return *text->group && !group ? "group" : NULL;
}

/* Opens it anew, and has it shared. */
static int listen_path_make(const struct listen_local_rights *rights,
			    struct listen_given *given, struct listen_path *out)
{
	int err = listen_local_open_as(out->path, rights, LISTEN_BACKLOG,
				       &out->file);

	if (err)
		return err;
	err = listen_given_add(given, out->file.fd);
	if (err)
		listen_local_close(&out->file, out->path);
	return err;
}

int listen_path_open(const char *address, const char *listener,
		     struct listen_given *given, struct listen_path *out)
{
	const struct listen_how how = {
		.address = address, .given = given, .listener = listener,
	};
	struct listen_local_rights rights;
	struct listen_path_text text;
	int err;

	*out->path = '\0';
	if (!listen_path_is_meant(address))
		return 0;
	if (!listen_path_read(address, &text) ||
	    listen_path_rights(&text, &rights))
		return -EINVAL;
	if (listen_count_given(&how) && *listen_name_given(&how))
		return 0; /* a service manager's */
	strcpy(out->path, text.path);
	if (!listen_count_given(&how)) {
		err = listen_path_make(&rights, given, out);
	} else {
		err = listen_local_set_rights(out->path, &rights);
		if (!err)
			err = listen_local_note_file(out->path, &out->file);
	}
	if (err)
		*out->path = '\0';
	return err;
}

void listen_path_close(struct listen_path *p)
{
	if (*p->path)
		listen_local_remove_left(&p->file, p->path);
	*p->path = '\0';
}
