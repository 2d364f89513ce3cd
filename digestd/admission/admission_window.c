/*
 * A window of keys, and the one before.
 */
#include "digestd/admission/admission_window.h"

#include "codec/admission.h"
#include "codec/mix.h"

int admission_window_new(struct admission_window *w, uint64_t keys)
{
	*w = (struct admission_window){ 0 };
	return scd_admission_new(&w->now, keys);
}

void admission_window_free(struct admission_window *w)
{
	scd_admission_free(&w->now);
	scd_admission_free(&w->before);
}

bool admission_window_use(struct admission_window *w, uint64_t hash)
{
	const struct scd_key key = scd__key_of_hash(hash);

	return scd_admission_use(w->now, &key) ||
	       (w->before && scd_admission_seen(w->before, &key));
}

bool admission_window_seen(const struct admission_window *w, uint64_t hash)
{
	const struct scd_key key = scd__key_of_hash(hash);

	return scd_admission_seen(w->now, &key) ||
	       (w->before && scd_admission_seen(w->before, &key));
}

int admission_window_resize(struct admission_window *w, uint64_t keys)
{
	struct scd_admission *next;
	int err = scd_admission_new(&next, keys);

	if (err)
		return err;
	scd_admission_free(&w->before);
	w->before = w->now;
	w->now = next;
	return 0;
}

void admission_window_settle(struct admission_window *w)
{
	uint64_t enough;

	if (!w->before)
		return;
	enough = scd_admission_window(w->before);
	if (enough > scd_admission_window(w->now))
		enough = scd_admission_window(w->now);
	if (scd_admission_noted(w->now) >= enough)
		scd_admission_free(&w->before);
}

uint64_t admission_window_keys(const struct admission_window *w)
{
	return scd_admission_window(w->now);
}

static size_t admission_window_memory_of(const struct scd_admission *a)
{
	size_t bytes = 0;

	if (a)
		scd_admission_memory(a, &bytes);
	return bytes;
}

size_t admission_window_memory(const struct admission_window *w)
{
	return admission_window_memory_of(w->now) +
	       admission_window_memory_of(w->before);
}
