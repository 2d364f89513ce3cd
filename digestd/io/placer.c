/*
 * The placer. The filter needs no lock of its own: codec/admission.h.
 */
#include "digestd/io/placer.h"

#include <errno.h>
#include <stdlib.h>

#include "codec/admission.h"
#include "codec/error.h"

struct placer {
	enum placement placement;
	struct scd_admission *asked; /* null: nothing is remembered */
};

int placer_new(const struct placer_settings *settings, struct placer **out)
{
	struct placer *p = calloc(1, sizeof(*p));
	int err = SCD_OK;

	if (!p)
		return -ENOMEM;
	p->placement = settings->placement;
	if (placement_remembers(p->placement))
		err = scd_admission_new(&p->asked, settings->window);
	if (err) {
		placer_free(&p);
		return err == SCD_ENOMEM ? -ENOMEM : -EINVAL;
	}
	*out = p;
	return 0;
}

void placer_free(struct placer **p)
{
	if (!*p)
		return;
	scd_admission_free(&(*p)->asked);
	free(*p);
	*p = NULL;
}

bool placer_keeps(struct placer *p, const struct scd_key *key, bool remote,
		  bool asked_at_peers)
{
	const struct placement_case c = {
		.remote = remote,
		.asked = p->asked && scd_admission_use(p->asked, key),
		.asked_at_peers = asked_at_peers,
	};

	return placement_keeps(p->placement, &c);
}
