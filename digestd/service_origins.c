/*
 * The service's part in who the origins are.
 */
#include <errno.h>

#include "digestd/config/configuration.h"
#include "digestd/part_settings.h"
#include "digestd/service_inside.h"

int service_start_origins(struct service *s)
{
	int err = origins_new(&s->origins);

	if (!err)
		err = origin_watch_new(s->loop, s->origins, s->troubles,
				       &s->watcher);
	return err;
}

int service_find_origins(struct service *s, const struct config *c,
			 struct worker_settings *settings)
{
	struct worker_origin *sites =
		(struct worker_origin *)(uintptr_t)settings->origins;
	const struct origin_policy policy = part_settings_of_origins(c);
	bool found = true;

	origins_configure(s->origins, &policy);
	for (size_t i = 0; i < settings->norigins; i++) {
		sites[i].origins = origins_find(s->origins, sites[i].url);
		found = found && sites[i].origins;
	}
	if (settings->default_origin) {
		settings->default_origins =
			origins_find(s->origins, settings->default_origin);
		found = found && settings->default_origins;
	}
	return found ? 0 : -ENOMEM;
}

int service_watch_origins(struct service *s, const struct config *c)
{
	const struct origin_watch_settings settings =
		part_settings_of_watching(c);

	return origin_watch_set(s->watcher, &settings);
}
