/*
 * No admission: everything that was fetched goes to disk.
 */
#include "digestd/admission/admission_policy.h"

static enum admission_decision
admission_none_decide(struct admission *a, const struct admission_item *r)
{
	(void)a;
	(void)r;
	return ADMISSION_DISK;
}

static bool admission_none_admits_all(const struct admission *a)
{
	(void)a;
	return true;
}

const struct admission_policy admission_none = {
	.name = "none",
	.about = "everything is admitted",
	.options = "",
	.size = sizeof(struct admission),
	.decide = admission_none_decide,
	.admits_all = admission_none_admits_all,
};
