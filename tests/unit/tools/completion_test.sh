#!/usr/bin/env bash
# Each shell loads the generated completions and completes with them.
# Usage: completion_test.sh bash|zsh|fish, with $STATETAPE in the environment.
set -u

shell=$1
command -v "$shell" >/dev/null || {
	echo "skipped: $shell is not installed"
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
script=$work/statetape.$shell
"$STATETAPE" generate "$shell" >"$script" || exit 1
mkdir -p "$work/at/first dir" "$work/at/second"
# What the completions ask: the program by its name, of a repository with a
# tape and a code graph.
mkdir "$work/bin" && ln -s "$STATETAPE" "$work/bin/statetape"
export PATH=$work/bin:$PATH XDG_STATE_HOME=$work/state \
	XDG_RUNTIME_DIR=$work/run
mkdir -m 700 "$XDG_RUNTIME_DIR" "$work/repo" || exit 1
touch "$work/at/file"
cd "$work/at" || exit 1
failures=0

# check WANTED WORD...: the completions of the last WORD, sorted and joined by
# '|', are WANTED.
check()
{
	local wanted=$1 got
	shift
	got=$("complete_$shell" "$@" | LC_ALL=C sort | paste -sd '|')
	if [[ $got != "$wanted" ]]; then
		printf 'FAILED: %s\n  wanted: %s\n  got:    %s\n' \
			"$*" "$wanted" "$got"
		failures=$((failures + 1))
	fi
}

# shellcheck disable=SC2317 # called by its name
complete_bash()
{
	bash --norc -c '
		source "$1" || exit 1
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_statetape
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$script" "$@" | sed '/^$/d'
}

# shellcheck disable=SC2016,SC2317 # called by its name; fish expands
complete_fish()
{
	HOME=$work fish --no-config -c '
		source $argv[1]
		complete -C "$argv[2..]"
	' "$script" "$@" | cut -f1 | sed 's,/$,,'
}

case $shell in
bash)
	bash -n "$script" || exit 1
	;;
zsh)
	zsh -n "$script" || exit 1
	# zsh completes only under its line editor. A script can only check
	# that zsh loads the completions, and for which command.
	zsh -fc '
		compdef() { print -r -- "$@" }
		source $1
		whence -w _statetape
	' zsh "$script" >"$work/out" || exit 1
	grep -qx '_statetape statetape' "$work/out" || exit 1
	grep -qx '_statetape: function' "$work/out"
	exit
	;;
fish)
	fish --no-execute "$script" || exit 1
	;;
esac

# The verbs that the summary lists.
verbs=$("$STATETAPE" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | LC_ALL=C sort |
	paste -sd '|')
check "journal" statetape j
check "$verbs" statetape help ''
check "bash|fish|man|man-tape|zsh" statetape generate ''
check "--path|--pid" statetape journal --p
check "--lazy" statetape umount --l
check "callees|callers" statetape graph call
check "--depth|--dot" statetape graph impact --d
check "first dir|second" statetape graph symbols ''
check "" statetape graph callers ''
check "first dir|second" statetape mount ''
check "second" statetape mount -f s
check "" statetape journal --pid ''
check "" statetape demo ''
check "file" statetape mount second -- cat fil
check "eager|off|pinned" statetape manager --mode ''
check "eager" statetape run --mode ea
check "control|statetape" statetape run --policy ''
check "agent-trace|git-ai" statetape notes --format ''
check "csv|jsonl" statetape export --format ''
check "auto|none|private|visible" statetape run --mount ''
printf 'write\tapp.py\tdef load(): pass\\ndef look(): pass\\n\nwrite\tb\tx\n' |
	"$TEST_BIN/unit/tools/tape_fill" "$work/repo" >/dev/null || exit 1
(cd "$work/repo" && "$STATETAPE" graph stats >/dev/null) || exit 1
check "$work/repo|first dir|second" statetape log ''
cd "$work/repo" || exit 1
check "1|2" statetape show ''
check "1|2" statetape undo ''
check "2" statetape undo --command 2
check "app.load|app.look" statetape graph callers app.lo
check "app.look" statetape log --symbol app.loo
cd "$work/at" || exit 1
if [[ $shell == bash ]]; then
	check "--help|--version|$verbs" statetape ''
	check "first dir|second" statetape mount second ''
	check "" statetape mount first second ''
	check "second" statetape mount --keep 5M s
	check "second" statetape mount --keep = 5M s
	check "" statetape mount --keep ''
	check "second" statetape journal -- s
	check "" statetape nonsense ''
	check "" statetape graph nonsense ''
	check "second" statetape graph callers --depth 2 name s
	check "file" statetape graph at fil
fi
exit $((failures > 0))
