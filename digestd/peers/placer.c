/*
 * The placer. The filter and the set may be used by all threads as they are.
 */
#include "digestd/peers/placer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "codec/admission.h"
#include "codec/error.h"
#include "digestd/peers/seen.h"

struct placer {
	enum placement placement;
	struct seen *seen;	     /* null: none */
	struct scd_admission *asked; /* instead of it; null: none */
};

int placer_new(const struct placer_settings *settings, struct placer **out)
{
	struct placer *p = calloc(1, sizeof(*p));
	int err = SCD_OK;

	assert(settings->placement < PLACEMENTS);
	if (!p)
		return -ENOMEM;
	p->placement = settings->placement;
	p->seen = settings->seen;
	if (placement_remembers(p->placement) && !p->seen)
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

static bool placer_was_asked(struct placer *p, const struct scd_key *key)
{
	if (p->seen)
		return seen_use(p->seen, key);
	return p->asked && scd_admission_use(p->asked, key);
}

bool placer_keeps(struct placer *p, const struct scd_key *key,
		  const struct placement_case *facts)
{
	struct placement_case c = *facts;

	c.asked = placer_was_asked(p, key);
	return placement_keeps(p->placement, &c);
}

bool placer_has_tiers(const struct placer *p)
{
	return placement_has_tiers(p->placement);
}
