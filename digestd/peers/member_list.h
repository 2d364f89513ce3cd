/*
 * Lists of members, the nodes of a cluster, as a file or a command writes them:
 * one a line, with blanks between the words; what follows a # is a comment.
 *
 *   NAME URL [KIND [LOCATION]]
 *
 * NAME is the peer's in logs and metrics, URL that of its peer listener, KIND a
 * row of peer_kind.h. Without I/O and state.
 */
#ifndef DIGESTD_PEERS_MEMBER_LIST_H
#define DIGESTD_PEERS_MEMBER_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "digestd/peers/upstream.h"

/* By name in ascending order once it is read. Zero is an empty one. */
struct member_list {
	struct upstream *at;
	size_t n;
};

/* What is wrong with a list, and where. */
struct member_fault {
	unsigned line; /* the first one is 1; 0: of no line */
	char what[128];
	char said[256]; /* by a command, of its own accord; empty: nothing */
};

/*
 * Reads a list into an empty one. Returns 0; -EINVAL with a fault: a line that
 * is none, a name or a URL that is given twice, more members than a node can
 * follow; -ENOMEM, with one, too. After an error the list is empty.
 */
int member_list_read(struct member_list *list, const char *text,
		     struct member_fault *fault);

/* Adds a member, whose strings are copied, without looking at its name.
 * Returns 0 or -ENOMEM. */
int member_list_add(struct member_list *list, const struct upstream *member);

/* Fills an empty list with the members of another. Returns 0 or -ENOMEM. */
int member_list_copy(struct member_list *to, const struct member_list *from);

/* Removes the member at i. */
void member_list_remove(struct member_list *list, size_t i);

/* Brings it in the order of its names, of which each is there once. */
void member_list_sort(struct member_list *list);

/* The member of this name; null: there is none. */
const struct upstream *member_list_find(const struct member_list *list,
					const char *name);

/* Whether two members are asked at the same place, in the same way. */
bool member_is_same(const struct upstream *a, const struct upstream *b);

/* Whether two lists have the same members in the same order. */
bool member_list_is_same(const struct member_list *a,
			 const struct member_list *b);

void member_list_free(struct member_list *list);

/*
 * How a node introduces itself: "NAME URL", or
 * "NAME URL digestd LOCATION", where the URL may lack its host,
 * "http://:8081", for the address from which the request comes. `from` is that,
 * without brackets. Returns 0 with a list of this one member, -EINVAL or
 * -ENOMEM.
 */
int member_list_introduce(struct member_list *list, const char *text,
			  const char *from);

#endif
