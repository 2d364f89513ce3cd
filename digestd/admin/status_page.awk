# Makes a table of C strings, a line each, of the status page.
BEGIN {
	print "/* Made of status_page.html. */"
	print "static const char *const status_page_lines[] = {"
}
{
	gsub(/\\/, "\\\\")
	gsub(/"/, "\\\"")
	printf "\t\"%s\\n\",\n", $0
}
END {
	print "};"
}
