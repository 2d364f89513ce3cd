#!/bin/sh
# Builds one fuzz target with libFuzzer and sanitizers, and runs it for a
# bounded time, or number of runs if FUZZ_RUNS is given. Called by "make fuzz",
# in the build folder:
#
#   FUZZ_CC=clang FUZZ_TIME=60 FUZZ_RUNS= run.sh TARGET "CORPORA" SOURCE...
#
# The folders CORPORA and the SOURCEs are named from the top of the source
# tree ($top_srcdir); what is no .c file is left out. New inputs are kept in
# fuzz/TARGET/ of the build folder, an input that fails beside them.
set -eu
: "${FUZZ_CC:?there is no clang, which make fuzz needs}"

target=$1
corpora=$2
shift 2

mkdir -p "fuzz/$target"
sources=
for source in "tests/fuzz/fuzz_$target.c" "$@"; do
	case $source in
	*.c) sources="$sources $top_srcdir/$source" ;;
	esac
done
seeds=
for folder in $corpora; do
	seeds="$seeds $top_srcdir/$folder"
done

# An object of each source, so that ccache in FUZZ_CC has its use. Comparisons
# are not traced, which would take three quarters of the time: what has to be
# guessed, the mutators know. What code of the tests does is no new coverage.
mkdir -p fuzz/objects
objects=
for source in $sources; do
	object=fuzz/objects/$(echo "${source#"$top_srcdir/"}" | tr / -).o
	coverage=-fsanitize-coverage=inline-8bit-counters,pc-table
	case $source in
	*/tests/codec/*) coverage= ;;
	esac
	# shellcheck disable=SC2086 # a list of words
	$FUZZ_CC -std=gnu11 -g -O2 -fsanitize=address,undefined $coverage \
		-fno-sanitize-recover=undefined -I. -I"$top_srcdir" \
		${FUZZ_CFLAGS-} -c -o "$object" "$source"
	objects="$objects $object"
done

# shellcheck disable=SC2086 # lists of words
$FUZZ_CC -fsanitize=fuzzer,address,undefined -o "fuzz/fuzz_$target" \
	$objects ${FUZZ_LIBS-} -lmd -lm

limit=-max_total_time=$FUZZ_TIME
if [ "${FUZZ_RUNS-}" ]; then
	limit=-runs=$FUZZ_RUNS
fi
# shellcheck disable=SC2086
"fuzz/fuzz_$target" "$limit" -max_len="${FUZZ_MAX_LEN-4096}" -timeout=10 \
	-rss_limit_mb=2048 -print_final_stats=1 \
	-artifact_prefix="fuzz/$target-failed-" "fuzz/$target" $seeds
