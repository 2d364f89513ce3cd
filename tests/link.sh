#!/bin/sh
# Links a program that only tests, in a tenth of the time of libtool, which the
# Makefile calls otherwise: such a program takes archives of this tree and
# shared libraries of the system, so that of libtool's archives only the name
# and what they need themselves has to be found out.
#
#	link.sh [OPTION...] --mode=link COMMAND [ARGUMENT...]
set -eu
for word do
	case $word in
	--mode=link)
		set -- ;;
	*.la)
		library_names="" old_library="" dependency_libs=""
		# shellcheck disable=SC1090
		. "./$word"
		if [ -n "$library_names" ]; then
			echo "link.sh: $word is a shared library" >&2
			exit 1
		fi
		# shellcheck disable=SC2086
		set -- "$@" "${word%/*}/.libs/$old_library" $dependency_libs ;;
	*)
		set -- "$@" "$word" ;;
	esac
done
exec "$@"
