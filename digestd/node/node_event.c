/*
 * The names of events.
 */
#include "digestd/node/node_event.h"

#include <stddef.h>

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
