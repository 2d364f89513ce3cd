/*
 * The places of peers in the table of their lists.
 */
#include "digestd/peers/peer_follower_inside.h"

void peer_follower_seat(struct peer *p)
{
	struct peer_table *table = p->sector.count ? p->follow->sectors
						   : p->follow->table;
	struct peer_slot slot;

	if (p->slot.table || !table || !p->kind->bound ||
	    !peer_table_claim(table, &slot))
		return;
	p->removal = digest_job_new_removal(&slot);
	if (p->removal)
		p->slot = slot;
	else
		peer_table_leave(&slot);
}

void peer_follower_unseat(struct peer *p)
{
	if (!p->slot.table)
		return;
	peer_table_leave(&p->slot);
	digest_decoder_remove(p->follow->decoder, p->removal);
	p->slot.table = NULL;
}
