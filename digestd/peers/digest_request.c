/*
 * Requests for digests.
 */
#include "digestd/peers/digest_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "digestd/http/dictionary.h"
#include "digestd/http/fields.h"

const struct digest_paths digest_paths_held = { "/scd/v1/digest",
						"/scd/v1/delta/",
						"/scd/v1/sector/" };
const struct digest_paths digest_paths_seen = { "/scd/v1/seen",
						"/scd/v1/seen-delta/",
						NULL };

/* What follows the generation of a list, in tags and in names of deltas. */
static const char digest_request_of_list[] = "-list";

/* A reader's place in the text. */
struct place {
	const char *at, *end;
};

static bool digest_request_take_text(struct place *p, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(p->end - p->at) < len || memcmp(p->at, text, len))
		return false;
	p->at += len;
	return true;
}

/* Exactly 16 hexadecimal digits, lower case. */
static bool digest_request_take_instance(struct place *p, uint64_t *out)
{
	*out = 0;
	if (p->end - p->at < 16)
		return false;
	for (int i = 0; i < 16; i++, p->at++) {
		char c = *p->at;

		if (c >= '0' && c <= '9')
			*out = *out << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*out = *out << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	return true;
}

static bool digest_request_take_decimal(struct place *p, uint64_t *out)
{
	const char *start = p->at;

	*out = 0;
	for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
		if (p->at - start >= 19)
			return false;
		*out = *out * 10 + (uint64_t)(*p->at - '0');
	}
	return p->at > start;
}

bool digest_tag_read(const char *text, size_t len, struct digest_tag *tag)
{
	struct place p = { text, text + len };

	if (!digest_request_take_text(&p, "\"") ||
	    !digest_request_take_instance(&p, &tag->instance) ||
	    !digest_request_take_text(&p, "-") ||
	    !digest_request_take_decimal(&p, &tag->generation))
		return false;
	tag->list = digest_request_take_text(&p, digest_request_of_list);
	return digest_request_take_text(&p, "\"") && p.at == p.end;
}

void digest_tag_write(const struct digest_tag *tag,
		      char out[DIGEST_ETAG_BYTES + 1])
{
	snprintf(out, DIGEST_ETAG_BYTES + 1,
		 "\"%016" PRIx64 "-%" PRIu64 "%s\"", tag->instance,
		 tag->generation, tag->list ? digest_request_of_list : "");
}

/* "<number>-<count>" up to the end. */
static bool digest_request_take_sector(struct place *p, struct sector *out)
{
	uint64_t number, count;

	if (!digest_request_take_decimal(p, &number) ||
	    !digest_request_take_text(p, "-") ||
	    !digest_request_take_decimal(p, &count) || p->at != p->end ||
	    count > SECTOR_COUNT_MAX || number >= count)
		return false;
	*out = (struct sector){ (unsigned)number, (unsigned)count };
	return true;
}

void digest_sector_path_write(const struct digest_paths *paths,
			      const struct sector *sector,
			      char out[DIGEST_SECTOR_PATH_BYTES])
{
	snprintf(out, DIGEST_SECTOR_PATH_BYTES, "%s%u-%u", paths->sector,
		 sector->number, sector->count);
}

static void digest_request_read_target(struct digest_request *r,
				       const struct digest_paths *paths,
				       struct field_part target)
{
	struct place p = { target.at, target.at + target.len };

	if (target.len == strlen(paths->current) &&
	    digest_request_take_text(&p, paths->current))
		r->resource = DIGEST_CURRENT;
	else if (digest_request_take_text(&p, paths->delta) &&
		 digest_request_take_instance(&p, &r->instance) &&
		 digest_request_take_text(&p, "/") &&
		 digest_request_take_decimal(&p, &r->from) &&
		 digest_request_take_text(&p, "-") &&
		 digest_request_take_decimal(&p, &r->to)) {
		r->list = digest_request_take_text(&p, digest_request_of_list);
		r->resource = p.at == p.end ? DIGEST_DELTA : DIGEST_NONE;
	} else if (paths->sector &&
		   digest_request_take_text(&p, paths->sector) &&
		   digest_request_take_sector(&p, &r->sector)) {
		r->resource = DIGEST_SECTOR;
	}
}

static void digest_request_read_tags(struct digest_request *r,
				     const struct fields *fields)
{
	struct field_part element;
	struct field_cursor cursor = { 0 };

	while (r->ask.ntags < DIGEST_ASK_BASES &&
	       fields_next(fields, "If-None-Match", &cursor, &element)) {
		if (digest_tag_read(element.at, element.len,
				    &r->ask.tags[r->ask.ntags]))
			r->ask.ntags++;
	}
}

/* RFC 3229, 10.5.3, and RFC 9110, 12.5.1: names with optional qualities; q=0
 * refuses. What is not named is not taken: who knows of lists says so. */
static bool digest_request_takes(const struct fields *fields, const char *field,
				 const char *what)
{
	struct field_part element;
	struct field_cursor cursor = { 0 };

	while (fields_next(fields, field, &cursor, &element)) {
		struct field_part name = field_part_take(&element, ';');

		if (field_part_is(name, what))
			return !field_part_is(element, "q=0") &&
			       !field_part_is(element, " q=0");
	}
	return false;
}

/* RFC 7240, 4.3. */
static int64_t digest_request_wait_of(const struct fields *fields)
{
	struct field_part element;
	struct field_cursor cursor = { 0 };

	while (fields_next(fields, "Prefer", &cursor, &element)) {
		struct field_part rest = field_part_take(&element, ';');
		struct field_part name = field_part_take(&rest, '=');
		int64_t seconds;

		if (!field_part_is(name, "wait"))
			continue;
		seconds = field_seconds(field_part_take(&rest, '\0'));
		return seconds < 0 ? 0 : seconds;
	}
	return 0;
}

static uint64_t digest_request_hears(const struct fields *fields)
{
	const char *text = fields_get(fields, DIGEST_HEARS);
	struct place p = { text, text ? text + strlen(text) : text };
	uint64_t instance;

	return text && digest_request_take_instance(&p, &instance) &&
			       p.at == p.end ?
		       instance :
		       0;
}

void digest_request_read(struct digest_request *r,
			 const struct digest_paths *paths,
			 struct field_part target, const struct fields *fields)
{
	*r = (struct digest_request){ .resource = DIGEST_NONE };
	digest_request_read_target(r, paths, target);
	digest_request_read_tags(r, fields);
	r->ask.takes.xor = digest_request_takes(fields, "A-IM", DIGEST_IM_XOR);
	r->ask.takes.conditional =
		digest_request_takes(fields, "A-IM", DIGEST_IM_CONDITIONAL);
	r->ask.takes_frames =
		digest_request_takes(fields, "A-IM", DIGEST_IM_FRAMES);
	r->ask.takes_stream =
		digest_request_takes(fields, "A-IM", DIGEST_IM_STREAM);
	r->ask.takes_aged =
		digest_request_takes(fields, "A-IM", DIGEST_IM_AGED);
	r->ask.takes_ages =
		digest_request_takes(fields, "A-IM", DIGEST_IM_AGES);
	r->ask.takes_lists =
		digest_request_takes(fields, "Accept", DIGEST_TYPE_LIST);
	r->ask.wait_s = digest_request_wait_of(fields);
	r->hears = digest_request_hears(fields);
}

void digest_node_write(const struct digest_node *node,
		       char text[DIGEST_NODE_BYTES])
{
	snprintf(text, DIGEST_NODE_BYTES, "%s%s%s",
		 !node->leases_said ? "" :
		 node->leases	    ? "leases" :
				      "leases=?0",
		 node->leases_said && node->drains ? ", " : "",
		 node->drains ? "drains" : "");
}

void digest_node_read(const struct fields *fields, struct digest_node *node)
{
	struct dictionary_cursor cursor = { 0 };
	struct dictionary_member member;
	struct digest_node said = { 0 };

	*node = said;
	while (dictionary_next(fields, DIGEST_NODE, &cursor, &member)) {
		bool on = member.type == DICTIONARY_BOOLEAN && member.number;

		if (field_part_is(member.key, "leases")) {
			said.leases_said = true;
			said.leases = on;
		} else if (field_part_is(member.key, "drains")) {
			said.drains = on;
		}
	}
	if (!cursor.failed)
		*node = said;
}

size_t digest_suspects_read(const struct fields *fields,
			    uint64_t out[DIGEST_SUSPECTS_MAX])
{
	struct field_cursor cursor = { 0 };
	struct field_part element;
	size_t n = 0;

	while (n < DIGEST_SUSPECTS_MAX &&
	       fields_next(fields, DIGEST_SUSPECTS, &cursor, &element)) {
		struct place p = { element.at, element.at + element.len };

		if (digest_request_take_instance(&p, &out[n]) && p.at == p.end)
			n++;
	}
	return n;
}
