# Completion of digestctl(1), cachesim(1), scd-replay(1) and scd-origin(1) for
# bash, and for zsh by way of bashcompinit:
#	autoload -U bashcompinit && bashcompinit && source digestctl.bash
#
# Commands and options are what the tool itself says in its --help, so that
# they are always those of the tool that is called. Only the words that an
# option takes are told here, by what --help calls the value.

_digestctl_values()
{
	case $1 in
	WAY) echo "double squid" ;;
	FORM) echo "xor conditional smallest" ;;
	FORMAT) echo "scd squid" ;;
	LEVEL) echo "error warning info debug" ;;
	KIND) echo "full xor conditional" ;;
	NODES) echo "model daemon" ;;
	SOURCE) echo "memory disk peer origin collapsed node nobody" ;;
	TARGET) echo "compact csv keys oracleGeneral" ;;
	INVALIDATION) echo "available strict" ;;
	PLACEMENT) echo "keep second single single-seen single-shared auto" ;;
	SIZES) echo "computed coded" ;;
	PARTITION) echo "client number prefix round-robin" ;;
	POLICY) echo "lru fifo clock sieve s3fifo lfu gdsf wtinylfu" ;;
	PROTOCOL)
		echo "none icp htcp directory servernames bloom compressed lists" \
			"golomb blocked squid carp hash global"
		;;
	ADMISSION)
		echo "none exact pair aged stable tinylfu size probation auto"
		;;
	YES) echo "yes no" ;;
	esac
}

# The tool and a command: the names of its options.
_digestctl_options()
{
	command "$1" $2 --help 2>/dev/null |
		sed -n -e 's/^  \(-.\), \(--[a-z-]*\).*/\1 \2/p' \
			-e 's/^      \(--[a-z-]*\).*/\1/p'
	echo "-h --help"
}

# The tool, a command, an option: what --help calls its value.
_digestctl_value()
{
	command "$1" "$2" --help 2>/dev/null |
		sed -n -e "s/^  \(-., \)\{0,1\} *$3 \([A-Z][A-Z]*\)\( .*\)\{0,1\}$/\2/p" \
			-e "s/^  $3, --[a-z-]* \([A-Z][A-Z]*\)\( .*\)\{0,1\}$/\1/p"
}

_digestctl_commands()
{
	command "$1" --help 2>/dev/null |
		sed -n 's/^  \([a-z][a-z-]*\)  *[a-z].*/\1/p'
	echo "-h --help -V --version"
}

# What the usage of a command calls its only operand.
_digestctl_operand()
{
	command "$1" "$2" --help 2>/dev/null |
		sed -n 's/^usage: [a-z]* [a-z-]* \[OPTIONS\] \([A-Z]*\)$/\1/p'
}

# Whether a command takes files.
_digestctl_takes_files()
{
	command "$1" "$2" --help 2>/dev/null |
		grep -Eq '^(usage:)? +[a-z]+ .*(FILE|DIGEST|OLD|BASE|TRACE|RESULT)'
}

_digestctl_words()
{
	COMPREPLY=($(compgen -W "$1" -- "$2"))
}

# Readline's own completion of files knows about spaces and folders.
_digestctl_files()
{
	compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$1"))
}

_digestctl()
{
	local tool=$1 word=${COMP_WORDS[COMP_CWORD]} value=
	local before=${COMP_WORDS[COMP_CWORD - 1]} name=${COMP_WORDS[1]}

	COMPREPLY=()
	if [ "$COMP_CWORD" -le 1 ]; then
		_digestctl_words "$(_digestctl_commands "$tool")" "$word"
		return
	fi
	# "--option=value" comes as three words
	if [ "$word" = = ]; then
		word=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case $before in
	-*) value=$(_digestctl_value "$tool" "$name" "$before") ;;
	esac
	case $value,$word in
	FILE,*) _digestctl_files "$word" ;;
	[A-Z]*) _digestctl_words "$(_digestctl_values "$value")" "$word" ;;
	,-*) _digestctl_words "$(_digestctl_options "$tool" "$name")" "$word" ;;
	*)
		if _digestctl_takes_files "$tool" "$name"; then
			_digestctl_files "$word"
		else
			value=$(_digestctl_operand "$tool" "$name")
			_digestctl_words "$(_digestctl_values "$value")" "$word"
		fi
		;;
	esac
}

# scd-replay(1) and scd-origin(1) have options and files, and no commands.
_digestctl_live()
{
	local word=${COMP_WORDS[COMP_CWORD]}

	COMPREPLY=()
	case $word in
	-*) _digestctl_words "$(_digestctl_options "$1" "")" "$word" ;;
	*) _digestctl_files "$word" ;;
	esac
}

complete -F _digestctl digestctl cachesim
complete -F _digestctl_live scd-replay scd-origin
