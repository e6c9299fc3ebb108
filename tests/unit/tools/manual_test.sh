#!/usr/bin/env bash
# groff renders the man pages without a warning, and every verb and question is
# in them.
set -eu

command -v groff >/dev/null || {
	echo 'skipped: groff is not installed'
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# show FORMAT: prints the page of that name as text.
show() {
	"$STATETAPE" generate "$1" >"$work/page"
	groff -man -Tascii -ww -P-c -P-b -P-u "$work/page" \
		>"$work/text" 2>"$work/warnings" || {
		# Without the macro package the page cannot be rendered.
		echo "skipped: $(head -n 1 "$work/warnings")"
		exit 77
	}
	if [[ -s $work/warnings ]]; then
		cat "$work/warnings"
		exit 1
	fi
}

show man
for verb in mount umount status journal reads log show blame diff cat \
	undo redo restore watch verify forget export doctor demo help generate \
	graph 'graph symbols' 'graph follow'; do
	grep -q "^   $verb\$" "$work/text" || {
		echo "FAILED: no section '$verb'"
		exit 1
	}
done
# Examples can be copied from the page and run.
grep -qF "statetape journal --path '*.py' -n 20" "$work/text"
grep -qF -- '--no-journal' "$work/text"

show man-tape
for question in SYNC STATUS SINCE LOG SHOW NOMINATE DRIFT SYMBOLS SYMBOL \
	NEIGHBOURS SOURCE VERSIONS CONTENT BLAME READSET HOLD RETIRE VERIFY \
	ANCHOR; do
	grep -q "^   $question\$" "$work/text" || {
		echo "FAILED: no question '$question'"
		exit 1
	}
done
for section in ENTRIES SUBSCRIBING QUESTIONS RECORDS 'THE STORE' 'HASH CHAIN' \
	EXAMPLES; do
	grep -q "^$section\$" "$work/text" || {
		echo "FAILED: no section '$section'"
		exit 1
	}
done
grep -qF "CREATE TABLE entry (" "$work/text"
