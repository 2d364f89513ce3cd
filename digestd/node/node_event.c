/*
 * The names of events, and of a fill's states.
 */
#include "digestd/node/node_event.h"

#include <stddef.h>

#include "digestd/node/node_fill.h"

const char *node_event_name(enum node_event event)
{
	switch (event) {
	case NODE_READ:
		return "READ";
	case NODE_HEAD:
		return "HEAD";
	case NODE_MORE:
		return "MORE";
	case NODE_END:
		return "END";
	case NODE_BROKE:
		return "BROKE";
	case NODE_TIMER:
		return "TIMER";
	case NODE_ROOM:
		return "ROOM";
	case NODE_LEFT:
		return "LEFT";
	case NODE_UP:
		return "UP";
	case NODE_EVENTS:
		break;
	}
	return NULL;
}

const char *node_fill_state_name(enum node_fill_state state)
{
	static const char *const names[NODE_FILL_STATES] = {
		"LANDED",     "ASK_PEER",   "COLLECT_PEER",   "SHOW_PEER",
		"REJOIN",     "ASK_ORIGIN", "COLLECT_ORIGIN", "SHOW_ORIGIN",
		"CUT",
	};

	return names[state];
}
