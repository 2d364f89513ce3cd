/*
 * Scripts. Pauses are short: what matters is the order of events, and a
 * connection that waits takes the place of one that does something.
 */
#include "tests/storm/storm_script.h"

#include "tests/codec/random.h"

enum {
	STORM_SCRIPT_PAUSE_MS = 12, /* between pieces, at most */
	STORM_SCRIPT_STALL_MS = 400,
	STORM_SCRIPT_PIECES = 6,
};

void storm_script_add(struct storm_script *s, enum storm_step_kind kind,
		      size_t n)
{
	if (s->count == STORM_SCRIPT_STEPS)
		return;
	s->steps[s->count++] = (struct storm_step){kind, n};
	if (kind == STORM_SEND)
		s->covered += n;
}

void storm_script_send(struct storm_script *s)
{
	if (s->text.len > s->covered)
		storm_script_add(s, STORM_SEND, s->text.len - s->covered);
}

void storm_script_send_torn(struct storm_script *s, uint64_t *random)
{
	uint64_t pieces = 1 + random_below(random, STORM_SCRIPT_PIECES);

	while (pieces-- > 1 && s->covered + 1 < s->text.len) {
		size_t left = s->text.len - s->covered;

		storm_script_add(s, STORM_SEND,
				 1 + random_below(random, left - 1));
		storm_script_add(s, STORM_PAUSE,
				 random_below(random, STORM_SCRIPT_PAUSE_MS));
	}
	storm_script_send(s);
}

void storm_script_spoil(struct storm_script *s, uint64_t *random)
{
	size_t at = s->count ? random_below(random, s->count) : 0;

	s->count = at;
	switch (random_below(random, 4)) {
	case 0:
		storm_script_add(s, STORM_RESET, 0);
		break;
	case 1:
		storm_script_add(s, STORM_PAUSE,
				 random_below(random, STORM_SCRIPT_STALL_MS));
		storm_script_add(s, STORM_RESET, 0);
		break;
	case 2:
		storm_script_add(s, STORM_FINISH, 0);
		storm_script_add(s, STORM_WAIT, STORM_SCRIPT_STALL_MS);
		break;
	default:
		storm_script_add(s, STORM_CLOSE, 0);
	}
}

void storm_script_free(struct storm_script *s)
{
	storm_text_free(&s->text);
	*s = (struct storm_script){0};
}
