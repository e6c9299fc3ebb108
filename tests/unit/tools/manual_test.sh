#!/usr/bin/env bash
# The man page, as groff sees it: no warning, and every verb shown.
set -eu

command -v groff >/dev/null || {
	echo 'skipped: groff is not installed'
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$STATETAPE" generate man >"$work/statetape.1"
groff -man -Tascii -ww -P-c -P-b -P-u "$work/statetape.1" \
	>"$work/text" 2>"$work/warnings" || {
	# Without the macro package there is nothing to see.
	echo "skipped: $(head -n 1 "$work/warnings")"
	exit 77
}
if [[ -s $work/warnings ]]; then
	cat "$work/warnings"
	exit 1
fi
for verb in mount umount status journal reads doctor demo help generate \
	graph 'graph symbols' 'graph follow'; do
	grep -q "^   $verb\$" "$work/text" || {
		echo "FAILED: no section '$verb'"
		exit 1
	}
done
# What a reader would copy must be what can be typed.
grep -qF "statetape journal --path '*.py' -n 20" "$work/text"
grep -qF -- '--no-journal' "$work/text"
