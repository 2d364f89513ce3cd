/*
 * Patterns of paths.
 */
#include "digestd/http/path_pattern.h"

#include <errno.h>
#include <string.h>

int path_pattern_init(struct path_pattern *p, const char *text)
{
	unsigned state = 0;

	memset(p, 0, sizeof(*p));
	while (*text && state < PATH_PATTERN_MAX) {
		const uint64_t bit = UINT64_C(1) << state++;
		size_t stars = strspn(text, "*");

		if (!stars)
			p->at[(unsigned char)*text] |= bit;
		else if (stars == 1)
			p->within |= bit;
		else
			p->anything |= bit;
		text += stars ? stars : 1;
	}
	p->end = UINT64_C(1) << state;
	return *text || !state ? -EINVAL : 0;
}

/* A star may stand for nothing; no two are side by side. */
static uint64_t path_pattern_skip(const struct path_pattern *p, uint64_t states)
{
	return states | (states & (p->within | p->anything)) << 1;
}

bool path_pattern_match(const struct path_pattern *p, const char *text,
			size_t len)
{
	uint64_t states = path_pattern_skip(p, 1);

	for (size_t i = 0; i < len && states; i++) {
		uint64_t next = (states & p->at[(unsigned char)text[i]]) << 1;

		next |= states & p->anything;
		if (text[i] != '/')
			next |= states & p->within;
		states = path_pattern_skip(p, next);
	}
	return states & p->end;
}
