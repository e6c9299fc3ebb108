#!/bin/sh
# Installs StateTape from the folder that this script is in, or removes it.
#
#   ./install.sh [--prefix DIRECTORY] [uninstall]
#
# Without --prefix: /usr/local for root, else ~/.local. Nothing else is
# touched; what was recorded (~/.local/state/statetape) stays.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=
action=install
while [ $# -gt 0 ]; do
	case $1 in
	--prefix)
		[ $# -gt 1 ] || {
			echo 'install.sh: --prefix wants a directory' >&2
			exit 2
		}
		prefix=$2
		shift
		;;
	--prefix=*) prefix=${1#--prefix=} ;;
	uninstall | --uninstall) action=uninstall ;;
	install) ;;
	*)
		sed -n '2,7s/^# \{0,1\}//p' "$0"
		[ "$1" = --help ] || exit 2
		exit 0
		;;
	esac
	shift
done
if [ -z "$prefix" ]; then
	prefix=$HOME/.local
	[ "$(id -u)" -ne 0 ] || prefix=/usr/local
fi

cd "$here"
if [ "$action" = uninstall ]; then
	find bin lib share -type f | while IFS= read -r file; do
		rm -f "$prefix/$file"
	done
	rmdir "$prefix/share/doc/statetape" 2>/dev/null || :
	echo "Removed from $prefix. What was recorded stays until you remove" \
		"$HOME/.local/state/statetape."
	exit
fi
find bin lib share -type d | while IFS= read -r dir; do
	mkdir -p "$prefix/$dir"
done
find bin lib share -type f | while IFS= read -r file; do
	# Replaced, not rewritten: a running statetape keeps the old one.
	cp "$file" "$prefix/$file.new"
	mv -f "$prefix/$file.new" "$prefix/$file"
done
echo "Installed in $prefix. Try: $prefix/bin/statetape doctor"
case :$PATH: in
*":$prefix/bin:"*) ;;
*) echo "$prefix/bin is not in your PATH." ;;
esac
