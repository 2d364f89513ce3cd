/*
 * Figures of a running node as people read them.
 */
#include "digestd/ctl/figures.h"

#include <stdio.h>
#include <string.h>

const char *figures_size(double bytes, char out[FIGURES_BYTES])
{
	static const char units[] = { '\0', 'K', 'M', 'G', 'T', 'P' };
	unsigned unit = 0;

	while (bytes >= 1000 && unit + 1 < sizeof(units)) {
		bytes /= 1024;
		unit++;
	}
	snprintf(out, FIGURES_BYTES, unit && bytes < 9.95 ? "%.1f%c" : "%.0f%c",
		 bytes, units[unit]);
	return out;
}

const char *figures_time(double seconds, char out[FIGURES_BYTES])
{
	double minutes = seconds / 60, hours = minutes / 60;
	unsigned long m = (unsigned long)minutes, h = (unsigned long)hours;

	if (seconds < 10)
		snprintf(out, FIGURES_BYTES, "%.1fs", seconds);
	else if (minutes < 1)
		snprintf(out, FIGURES_BYTES, "%.0fs", seconds);
	else if (hours < 1)
		snprintf(out, FIGURES_BYTES, "%lum", m);
	else if (hours < 24)
		snprintf(out, FIGURES_BYTES, "%luh %lum", h, m % 60);
	else
		snprintf(out, FIGURES_BYTES, "%lud %luh", h / 24, h % 24);
	return out;
}

const char *figures_share(double share, char out[FIGURES_BYTES])
{
	char text[FIGURES_BYTES];

	if (share <= 0)
		snprintf(out, FIGURES_BYTES, "0");
	else if (share < 0.0001)
		snprintf(out, FIGURES_BYTES, "%.0e", share);
	else if (share >= 0.9995)
		snprintf(out, FIGURES_BYTES, "%.1f", share);
	else {
		snprintf(text, sizeof(text), share < 0.01 ? "%.4f" : "%.3f",
			 share);
		snprintf(out, FIGURES_BYTES, "%s", text + 1); /* without 0 */
	}
	return out;
}

static const json_t *figures_at(const json_t *o, const char *path)
{
	char name[64];

	while (o && *path) {
		size_t len = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		o = json_object_get(o, name);
		path += len + (path[len] == '.');
	}
	return o;
}

double figures_number(const json_t *o, const char *path)
{
	return json_number_value(figures_at(o, path));
}

const char *figures_text(const json_t *o, const char *path)
{
	const char *text = json_string_value(figures_at(o, path));

	return text ? text : "";
}
