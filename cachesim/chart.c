/*
 * A chart of a report. No dashes and no superscripts: not every viewer of SVG
 * is right about them.
 */
#include "cachesim/chart.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/parameter.h"

/* What is drawn over what, if nobody says: the first whose x differs. */
static const struct {
	const char *x, *y;
} usual[] = {
	{ "bits", "false_hit_ratio" },
	{ "threshold", "message_bytes_per_request" },
	{ "capacity", "hit_ratio" },
	{ "proxies", "hit_ratio" },
	{ "capacity", "miss_ratio" },
};

enum { NUSUAL = sizeof(usual) / sizeof(usual[0]) };

static bool chart_is_number(const struct report *r, const char *name)
{
	int at = report_column_named(r, name);

	return at >= 0 && r->columns[at].type != REPORT_TEXT;
}

/* The text of a cell in a title; whatever its type. */
static void chart_cell_text(const struct report *r, size_t row, size_t column,
			    char text[64])
{
	const struct report_value *v = report_at(r, row, column);

	if (!v->is_set)
		snprintf(text, 64, "-");
	else if (r->columns[column].type == REPORT_TEXT)
		snprintf(text, 64, "%s", v->text);
	else if (r->columns[column].type == REPORT_SHARE)
		snprintf(text, 64, "%g %%", 100 * v->real);
	else
		snprintf(text, 64, "%g", report_number(r, row, column));
}

static bool chart_differs(const struct report *r, size_t column)
{
	char first[64], other[64];

	for (size_t i = 1; i < r->nrows; i++) {
		chart_cell_text(r, 0, column, first);
		chart_cell_text(r, i, column, other);
		if (strcmp(first, other))
			return true;
	}
	return false;
}

const char *chart_choose(struct chart *c, const struct report *r)
{
	for (size_t i = 0; i < NUSUAL && !c->x; i++) {
		int at = report_column_named(r, usual[i].x);

		if (at < 0 || !chart_differs(r, (size_t)at) ||
		    report_column_named(r, usual[i].y) < 0)
			continue;
		c->x = usual[i].x;
		if (!c->y)
			c->y = usual[i].y;
	}
	for (size_t i = 0; i < NUSUAL && c->x && !c->y; i++) {
		if (!strcmp(usual[i].x, c->x) &&
		    report_column_named(r, usual[i].y) >= 0)
			c->y = usual[i].y;
	}
	if (!r->nrows)
		return "there are no rows";
	if (!c->x)
		return "nothing differs that is drawn: --x COLUMN";
	if (!c->y)
		c->y = "hit_ratio";
	if (!chart_is_number(r, c->x) || !chart_is_number(r, c->y))
		return "there is no such column of numbers";
	return NULL;
}

/* A setting that differs, other than what is along x; a size as it was given
 * is the same as a capacity. */
static bool chart_in_title(const struct chart *c, const struct report *r,
			   size_t column)
{
	const char *name = r->columns[column].name;

	if (!strcmp(name, c->x) || !strcmp(name, c->y) ||
	    !chart_differs(r, column))
		return false;
	if (!strcmp(name, "size"))
		return strcmp(c->x, "capacity");
	if (!strcmp(name, "proxy") || !strcmp(name, "system"))
		return true;
	for (enum parameter d = 0; d < PARAMETERS; d++) {
		if (!strcmp(name, parameter_column(d).name))
			return true;
	}
	return false;
}

/* The values of the settings of a row; what can go wrong with it in gnuplot
 * becomes a blank. */
static void chart_title(const struct chart *c, const struct report *r,
			size_t row, char text[512])
{
	char cell[64];
	size_t n = 0;

	*text = '\0';
	for (size_t i = 0; i < r->ncolumns && n < 400; i++) {
		if (!chart_in_title(c, r, i))
			continue;
		chart_cell_text(r, row, i, cell);
		n += (size_t)snprintf(text + n, 512 - n, "%s%s", n ? ", " : "",
				      cell);
	}
	for (char *at = text; *at; at++) {
		if (strchr("\"\\\n\r", *at))
			*at = ' ';
	}
}

static void chart_axis_label(FILE *to, char axis, const struct report *r,
			     const char *name)
{
	enum report_type type =
		r->columns[report_column_named(r, name)].type;

	fprintf(to, "set %clabel \"", axis);
	for (; *name; name++)
		putc(*name == '_' ? ' ' : *name == '"' ? ' ' : *name, to);
	fprintf(to, "%s\"\n", type == REPORT_SHARE ? ", %" : "");
	if (type == REPORT_BYTES)
		fprintf(to,
			"set logscale %c 2\nset format %c \"%%.0b %%BB\"\n",
			axis, axis);
}

static double chart_scale(const struct report *r, int column)
{
	return r->columns[column].type == REPORT_SHARE ? 100 : 1;
}

static void chart_write_points(const struct chart *c, const struct report *r,
			       const char *of, FILE *to)
{
	int x = report_column_named(r, c->x), y = report_column_named(r, c->y);
	char text[512];

	for (size_t i = 0; i < r->nrows; i++) {
		chart_title(c, r, i, text);
		if (strcmp(text, of) || !report_at(r, i, (size_t)x)->is_set ||
		    !report_at(r, i, (size_t)y)->is_set)
			continue;
		fprintf(to, "%.12g %.12g\n",
			chart_scale(r, x) * report_number(r, i, (size_t)x),
			chart_scale(r, y) * report_number(r, i, (size_t)y));
	}
}

/* Whether a row has a point. */
static bool chart_has_point(const struct chart *c, const struct report *r,
			    size_t row)
{
	size_t x = (size_t)report_column_named(r, c->x);
	size_t y = (size_t)report_column_named(r, c->y);

	return report_at(r, row, x)->is_set && report_at(r, row, y)->is_set;
}

/* Whether no row before has that title. */
static bool chart_is_first(const struct chart *c, const struct report *r,
			   size_t row)
{
	char text[512], before[512];

	if (!chart_has_point(c, r, row))
		return false;
	chart_title(c, r, row, text);
	for (size_t i = 0; i < row; i++) {
		chart_title(c, r, i, before);
		if (chart_has_point(c, r, i) && !strcmp(text, before))
			return false;
	}
	return true;
}

static void chart_write_style(const struct chart *c, FILE *to)
{
	static const char *const colours[] = { "1b6ca8", "c8553d", "3d8b5a",
					       "8a5fa8", "c49a2c", "777777",
					       "4fa5b8", "a8325f" };

	fprintf(to, "set terminal %s\nset output \"", c->terminal);
	for (const char *at = c->output; *at; at++) {
		if (*at == '"' || *at == '\\')
			putc('\\', to);
		putc(*at, to);
	}
	fputs("\"\n", to);
	for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
		fprintf(to, "set linetype %zu lc rgb \"#%s\" lw 2 pt 7 ps .6\n",
			i + 1, colours[i]);
	fputs("set linetype cycle 8\n"
	      "set grid lt 1 lc rgb \"#e4e4e4\" lw .5\n"
	      "set border 3\nset tics nomirror\n"
	      "set key outside right top samplen 2 spacing 1.1\n",
	      to);
}

void chart_write(const struct chart *c, const struct report *r, FILE *to)
{
	char text[512];
	const char *before = "plot ";

	chart_write_style(c, to);
	chart_axis_label(to, 'x', r, c->x);
	chart_axis_label(to, 'y', r, c->y);
	for (size_t i = 0; i < r->nrows; i++) {
		if (!chart_is_first(c, r, i))
			continue;
		chart_title(c, r, i, text);
		fprintf(to, "$row%zu << EOD\n", i);
		chart_write_points(c, r, text, to);
		fputs("EOD\n", to);
	}
	for (size_t i = 0; i < r->nrows; i++) {
		if (!chart_is_first(c, r, i))
			continue;
		chart_title(c, r, i, text);
		fprintf(to, "%s$row%zu smooth unique with linespoints %s%s%s",
			before, i, *text ? "title \"" : "notitle", text,
			*text ? "\"" : "");
		before = ", \\\n\t";
	}
	putc('\n', to);
}
