# digestd.conf(5) from its frame and the tables of options: the line @OPTIONS@
# becomes sections with an entry for each option.
#
#   awk -f options.awk option_kinds.def options_NAME.def... digestd.conf.5.in
#
# The files say what they hold by their names.

function trimmed(text) {
	sub(/^[ \t\n]+/, "", text)
	sub(/[ \t\n]+$/, "", text)
	return text
}

function unquoted(text) {
	gsub(/^"|"$/, "", text)
	return text
}

function fail(why) {
	print FILENAME ":" FNR ": " why >"/dev/stderr"
	failed = 1
	exit 1
}

function add(text) {
	entries = entries text "\n"
}

# A limit of a number or of a time as a configuration has it, or nothing where
# it is only what the program can count to.
function limit(text, kind,	part, n) {
	text = trimmed(text)
	if (text in constants)
		text = constants[text]
	if (split(text, part, / \* /) == 2)
		text = part[1] * part[2]
	if (text !~ /^[0-9]+$/)
		return ""
	if (kind == "NUMBER")
		return text
	n = text * (kind == "TIME_S" ? 1000 : 1)
	if (n % 3600000 == 0)
		return n ? n / 3600000 "h" : "0s"
	if (n % 60000 == 0)
		return n / 60000 "m"
	return n % 1000 ? n "ms" : n / 1000 "s"
}

# Between which limits a value is, with both ends.
function range(kind, least, most) {
	if (kind !~ /^(NUMBER|TIME_MS|TIME_S)$/)
		return ""
	least = limit(least, kind)
	most = limit(most, kind)
	return least == "" || most == "" ? "" : "from " least " to " most
}

# An option's row, which is complete.
function begin_entry(row,	column, word) {
	sub(/^OPTION\(/, "", row)
	split(row, column, ",")
	name = trimmed(column[1])
	word = words[trimmed(column[2])]
	value = trimmed(column[4])
	bounds = range(trimmed(column[2]), column[5], column[6])
	if (word == "")
		fail(name ": no such kind of option")
	add(".It Ic " name " = Ar " word \
	    (trimmed(column[7]) == "START" ? " Em (start)" : ""))
}

function end_entry() {
	if (value != "NULL")
		add("Default:\n.Ql " unquoted(value) \
		    (bounds == "" ? " ." : " ;\n" bounds "."))
	name = ""
}

function end_section() {
	if (in_section)
		add(".El")
	in_section = 0
}

BEGIN {
	constants["HOUR_MS"] = 3600000
	constants["DAY_MS"] = 86400000
}

FILENAME ~ /option_kinds\.def$/ {
	if (/^OPTION_KIND\(/) {
		split($0, part, /[(,)]/)
		words[trimmed(part[2])] = unquoted(trimmed(part[4]))
	}
	next
}

FILENAME !~ /\.def$/ {
	if ($0 == "@OPTIONS@") {
		end_section()
		printf "%s", entries
	} else
		print
	next
}

row == "" && /^OPTION\(/ {
	if (name != "")
		fail(name " has no text for the manual")
	row = $0
	if (/\)$/) {
		begin_entry(row)
		row = ""
	}
	next
}

row != "" {
	row = row " " $0
	if (/"\)$/) {
		begin_entry(row)
		row = ""
	}
	next
}

/^\/\*$/ {
	in_comment = 1
	first = 1
	next
}

in_comment && /^ ?\*\/$/ {
	if (name != "")
		end_entry()
	else if (in_text)
		add(".Bl -tag -width Ds")
	in_comment = in_text = 0
	next
}

in_comment {
	if (first && name == "" && /^\.Ss /) {
		end_section()
		in_section = in_text = 1
	}
	if (in_text || name != "")
		add($0)
	first = 0
}

END {
	if (failed)
		exit 1
	if (name != "" || row != "")
		fail(name " ends without a text for the manual")
}
