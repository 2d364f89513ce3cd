#!/bin/sh
# Builds one fuzz target with libFuzzer and sanitizers, and runs it for a
# bounded time. Called by "make fuzz", in the build folder:
#
#   FUZZ_CC=clang FUZZ_TIME=60 run.sh TARGET "CORPORA" SOURCE...
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

# shellcheck disable=SC2086 # lists of words
"$FUZZ_CC" -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined -I. -I"$top_srcdir" \
	${FUZZ_CFLAGS-} -o "fuzz/fuzz_$target" $sources -lmd -lm

# shellcheck disable=SC2086
"fuzz/fuzz_$target" -max_total_time="$FUZZ_TIME" -max_len=4096 -timeout=10 \
	-rss_limit_mb=2048 -print_final_stats=1 \
	-artifact_prefix="fuzz/$target-failed-" "fuzz/$target" $seeds
