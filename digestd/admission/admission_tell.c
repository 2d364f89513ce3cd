/*
 * Telling, see the header.
 */
#include "digestd/admission/admission_tell.h"

#include "digestd/http/decimal.h"
#include "digestd/http/enum_names.h"

const char *const admission_tell_names[] = {
	[TELL_NOTHING] = "none",
	[TELL_NGINX] = "nginx",
	[TELL_FIELD] = "field",
	NULL,
};

bool admission_tell_read(const char *name, enum admission_tell *out)
{
	int i = enum_names_find(admission_tell_names, name);

	if (i >= 0)
		*out = (enum admission_tell)i;
	return i >= 0;
}

const char *admission_word(enum admission_decision d)
{
	switch (d) {
	case ADMISSION_DISK:
		return "disk";
	case ADMISSION_RAM:
		return "ram";
	case ADMISSION_NO:
		break;
	}
	return "no";
}

static int admission_tell_nginx(const struct admission_news *news,
				struct fields *response)
{
	static const char name[] = "X-Accel-Expires";
	char seconds[DECIMAL_BYTES];

	if (news->place != ADMISSION_DISK)
		return fields_set(response, name, "0");
	/* an origin that knows of nginx is right */
	if (news->age_s <= 0 || fields_get(response, name))
		return 0;
	decimal_write(news->left_s > 0 ? news->left_s : 0, seconds);
	return fields_set(response, name, seconds);
}

int admission_tell(enum admission_tell how, const struct admission_news *news,
		   struct fields *response)
{
	switch (how) {
	case TELL_NOTHING:
		break;
	case TELL_NGINX:
		return admission_tell_nginx(news, response);
	case TELL_FIELD:
		return fields_set(response, "Scd-Admit",
				  admission_word(news->place));
	}
	return 0;
}
