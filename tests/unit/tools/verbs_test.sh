#!/usr/bin/env bash
# The verbs on the command line: messages, exit codes, and their output about a
# mounted repository.
set -u

work=$(mktemp -d)
export XDG_STATE_HOME=$work/state XDG_RUNTIME_DIR=$work/run
unset NO_COLOR
follower=
# shellcheck disable=SC2317 # called by the trap
finish()
{
	[[ $follower ]] && kill "$follower" 2>/dev/null
	"$STATETAPE" umount --lazy "$work/repo" >/dev/null 2>&1
	rm -rf "$work"
}
trap finish EXIT
mkdir -m 700 "$work/run" "$work/repo" "$work/repo/sub" "$work/other"
failures=0

fail()
{
	printf 'FAILED: %s\n' "$*"
	failures=$((failures + 1))
}

# expect CODE PATTERN WORD...: statetape WORD... exits with CODE and its output
# matches PATTERN.
expect()
{
	local code=$1 pattern=$2 out rc
	shift 2
	out=$("$STATETAPE" "$@" 2>&1)
	rc=$?
	[[ $rc == "$code" ]] || fail "$*: exit code $rc, not $code: $out"
	[[ $out =~ $pattern ]] || fail "$*: no '$pattern' in: $out"
}

# eventually COMMAND...: repeats COMMAND until it succeeds.
eventually()
{
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" && return 0
		sleep 0.05
	done
	fail "never: $*"
}

expect 0 'Usage: statetape VERB'
expect 0 'Usage: statetape VERB' --help
expect 0 '^statetape [0-9]+\.[0-9]+' --version
expect 0 'Usage: statetape journal' help journal
expect 0 'Usage: statetape journal' journal --help
expect 2 "did you mean 'journal'" jurnal
expect 2 "did you mean --follow" journal --folow
expect 2 'wants a REPO' mount
expect 2 'generate prints' generate html
expect 0 'Nothing is mounted' status
expect 0 'is not mounted' status "$work/repo"
expect 1 'cannot be found' status "$work/none"
expect 0 'Nothing recorded here yet' journal "$work/repo"
expect 0 'Nothing recorded here yet' reads "$work/repo"
[[ $("$STATETAPE" --version >/dev/full 2>&1; echo $?) == 1 ]] ||
	fail 'a full disk behind stdout went unnoticed'
"$STATETAPE" doctor >/dev/null || {
	"$STATETAPE" doctor
	echo 'skipped: mounting is not possible here'
	((failures == 0)) && exit 77
	exit 1
}

# A follower that is started before the journal exists.
"$STATETAPE" journal -f --json "$work/repo" >"$work/followed" &
follower=$!
"$STATETAPE" mount "$work/repo" >/dev/null || {
	echo 'skipped: mounting is not possible here'
	exit 77
}
cd "$work/repo/sub" || exit 1
printf 'hello' >file
bash -c 'printf x > byte; true'
mv file $'new\nname'
printf 'x' >$'bytes\xff'
cat ./missing 2>/dev/null

eventually grep -q '"path":"sub/bytes\\\\xff","path_escaped":true' \
	"$work/followed"
grep -q '"op":"rename","path":"sub/file","path2":"sub/new\\nname"' \
	"$work/followed" || fail 'the rename was not followed'
expect 0 'sub/file -> sub/new\\x0aname' journal
expect 0 'write +sub/file 0\+5' journal --path '*/file'
expect 0 'write +sub/file 0\+5' journal --path sub "$work/repo"
[[ -z $("$STATETAPE" journal --path '*.none') ]] || fail '--path shows all'
[[ $("$STATETAPE" journal -n 2 | grep -c sub/) == 2 ]] || fail '-n 2'
[[ -z $("$STATETAPE" journal -n 0) ]] || fail '-n 0'
[[ $("$STATETAPE" journal --pid $$ | grep -c 'byte$\|byte ') -ge 2 ]] ||
	fail '--pid does not find a child'
[[ -z $("$STATETAPE" journal --pid 1) ]] || fail '--pid 1 finds something'
last=$("$STATETAPE" journal --json | tail -n 1 | grep -o '"n":[0-9]*')
[[ -z $("$STATETAPE" journal --since "${last#*:}") ]] || fail '--since'
"$STATETAPE" journal | grep -q $'\033' && fail 'colours without a terminal'
"$STATETAPE" journal --json | head -n 1 | grep -q '"op":"session"' ||
	fail 'a closed pipe'

expect 0 'is mounted \(pid' status "$work/repo"
expect 0 'is mounted \(pid' status
expect 0 '"journal":\{"enabled":true' status --json
expect 0 'opened +sub/byte|missed +sub/missing' reads
expect 0 '"processes":\[' reads --json
cd "$work" || exit 1
expect 0 'unmounted' umount "$work/repo"
expect 0 'is not mounted' status "$work/repo"
expect 0 'Nothing is mounted' status
expect 0 'write +sub/file 0\+5' journal "$work/repo"

# The follower goes on after a restart of the mount, and ends on a signal.
"$STATETAPE" mount "$work/repo" >/dev/null || fail 'mounting again'
echo again >"$work/repo/again"
eventually grep -q '"path":"again"' "$work/followed"
kill -INT "$follower"
wait "$follower" || fail "the follower's exit code is $?"
follower=
"$STATETAPE" umount "$work/repo" >/dev/null || fail 'unmounting again'

# status reports a killed mount until it is mounted again.
"$STATETAPE" mount "$work/repo" >/dev/null || fail 'mounting a third time'
pid=$("$STATETAPE" status --json "$work/repo" | grep -o '"pid":[0-9]*')
kill -KILL "${pid#*:}"
has_ended() { test -s "$XDG_STATE_HOME"/statetape/repo-*/last-end; }
eventually has_ended
expect 1 'killed by SIGKILL' status "$work/repo"
expect 1 'killed by SIGKILL' status
expect 1 '"last_end":"' status --json "$work/repo"

# The demo leaves nothing behind.
mkdir "$work/tmp"
export TMPDIR=$work/tmp
expect 0 'model gets it put right in its place' demo
rmdir "$work/tmp" || fail 'demo left something behind'
exit $((failures > 0))
