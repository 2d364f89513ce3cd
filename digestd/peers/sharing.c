/*
 * The parts of the shared memory, put together.
 */
#include "digestd/peers/sharing.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "digestd/peers/digest_request.h"

struct sharing {
	struct sharing_settings settings;
	struct seen *seen;
	struct digest_api *api;
	struct publisher *publisher;
	struct peer_follower *follow;
};

int sharing_new(const struct sharing_settings *settings, struct sharing **out)
{
	struct sharing *s = calloc(1, sizeof(*s));
	int err;

	assert(settings->publishing.instance);
	assert(!settings->publishing.source.lock); /* it is put in here */
	if (!s)
		return -ENOMEM;
	s->settings = *settings;
	err = seen_new(&settings->seen, &s->seen);
	if (!err)
		err = digest_api_new(&s->api, settings->wait_s,
				     &digest_paths_seen);
	if (err) {
		sharing_free(&s);
		return err;
	}
	digest_api_name_hash(s->api, settings->following.hash_name);
	s->settings.publishing.source = seen_source(s->seen);
	s->settings.following.subject = DIGEST_OF_SEEN;
	*out = s;
	return 0;
}

int sharing_start(struct sharing *s, const struct sharing_start *how)
{
	int err;

	assert(how->loop && how->fetcher);
	assert(!s->publisher && !s->follow);
	err = publisher_new(how->loop, s->api, &s->settings.publishing,
			    &s->publisher);
	if (err)
		return err;
	return peer_follower_new(how->loop, how->fetcher,
				 &s->settings.following, how->places,
				 how->nplaces, how->changed, how->arg,
				 &s->follow);
}

void sharing_stop(struct sharing *s)
{
	peer_follower_free(&s->follow);
	publisher_free(&s->publisher);
}

void sharing_free(struct sharing **s)
{
	if (!*s)
		return;
	sharing_stop(*s);
	if ((*s)->api)
		digest_api_free(&(*s)->api);
	seen_free(&(*s)->seen);
	free(*s);
	*s = NULL;
}

int sharing_set(struct sharing *s, const struct sharing_settings *settings,
		const struct upstream *places, size_t nplaces)
{
	const struct publisher_settings *publishing = &settings->publishing;

	assert(s->publisher && s->follow);
	s->settings.following = settings->following;
	s->settings.following.subject = DIGEST_OF_SEEN;
	publisher_set(s->publisher, &publishing->policy.publish,
		      &publishing->policy.resize);
	peer_follower_set(s->follow, &s->settings.following);
	return peer_follower_set_peers(s->follow, places, nplaces);
}

struct seen *sharing_seen(const struct sharing *s)
{
	return s->seen;
}

struct digest_api *sharing_api(const struct sharing *s)
{
	return s->api;
}

void sharing_stats(struct sharing *s, struct sharing_stats *out)
{
	const struct publisher_source source = seen_source(s->seen);

	*out = (struct sharing_stats){ .follow = s->follow };
	catalog_stats(source.lock(source.arg), &out->seen);
	source.unlock(source.arg);
	digest_api_count(s->api, &out->sent);
	if (s->publisher)
		publisher_stats(s->publisher, &out->published);
}

struct peerset *sharing_view(struct sharing *s)
{
	return s->follow ? peer_follower_view(s->follow) : NULL;
}
