# Of digestctl.bash, the words that options take, as a function of fish.
BEGIN {
	print "# Completion of digestctl(1), cachesim(1), scd-replay(1) and " \
		"scd-origin(1) for fish:\n# commands and options are what " \
		"the tool itself says in its --help.\n\n" \
		"function __digestctl_values\n    switch $argv[1]"
}
/^_digestctl_values\(\)/ { inside = 1 }
inside && /^}/ { exit }
inside && /^\t[A-Z]+\)/ {
	name = $1
	sub(/\).*/, "", name)
	printf "        case %s\n            printf '%%s\\n'", name
}
inside && /"/ {
	n = split($0, parts, "\"")
	for (i = 2; i <= n; i += 2)
		printf " %s", parts[i]
}
inside && /;;/ { print "" }
END { print "    end\nend" }
