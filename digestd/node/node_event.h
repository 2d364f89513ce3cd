/*
 * What happens to a request, and to the fill that it waits for.
 */
#ifndef DIGESTD_NODE_NODE_EVENT_H
#define DIGESTD_NODE_NODE_EVENT_H

enum node_event {
	NODE_READ,  /* the disk has been read */
	NODE_HEAD,  /* the header of a response has come */
	NODE_MORE,  /* more of its body */
	NODE_END,   /* all of it */
	NODE_BROKE, /* it will never be complete */
	NODE_TIMER, /* the time is up that was set */
	NODE_ROOM,  /* the client has taken bytes, and can take more */
	NODE_LEFT,  /* the client has been served, or has left */
	NODE_UP,    /* more of the client's own body has come, or of what it
		       says through a tunnel */
	NODE_EVENTS,
};

/* The name of an event, for messages. */
const char *node_event_name(enum node_event event);

#endif
