#include "fs/node/cred.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Written before threads exist. */
static bool act_for_others;
static bool override_modes;
static bool own_namespace; /* others' files are beyond our capabilities */

/* What this thread is set to; the kernel's side is per thread too. */
static _Thread_local struct {
	bool own_umask; /* the umask is no longer shared with other threads */
	bool known;
	uid_t uid;
	gid_t gid;
	mode_t umask_bits;
} now;

/* Does this user namespace know less than every user there is? */
static bool in_own_namespace(void)
{
	FILE *map = fopen("/proc/self/uid_map", "re");
	char line[64] = "";
	char *at = line;
	unsigned long inside, outside;

	if (!map)
		return true;
	if (!fgets(line, sizeof(line), map))
		line[0] = '\0';
	(void)fclose(map);
	inside = strtoul(at, &at, 10);
	outside = strtoul(at, &at, 10);
	return inside != 0 || outside != 0 ||
	       strtoul(at, NULL, 10) != UINT32_MAX;
}

bool cred_init(void)
{
	/*
	 * Without this bit, leaving fsuid 0 takes the file capabilities away,
	 * and making a file in a directory that the caller may write by way
	 * of a supplementary group would fail: we know only his main group.
	 * The kernel has checked his permission; ours must not fall short.
	 */
	if (geteuid() != 0)
		return false;
	act_for_others = prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) == 0;
	override_modes = prctl(PR_CAPBSET_READ, CAP_DAC_OVERRIDE) == 1;
	own_namespace = in_own_namespace();
	return act_for_others;
}

bool cred_covers(const struct stat *st)
{
	return act_for_others && override_modes &&
	       (!own_namespace || (st->st_uid == 0 && st->st_gid == 0));
}

static void assume_umask(mode_t umask_bits)
{
	/* Threads share their umask until told otherwise. */
	if (!now.own_umask) {
		if (unshare(CLONE_FS) < 0)
			return;
		now.own_umask = true;
		now.umask_bits = umask(umask_bits);
	}
	if (now.umask_bits != umask_bits || !now.known)
		(void)umask(umask_bits);
	now.umask_bits = umask_bits;
}

void cred_assume(uid_t uid, gid_t gid, mode_t umask_bits)
{
	assume_umask(umask_bits);
	if (act_for_others && (!now.known || now.gid != gid))
		(void)setfsgid(gid);
	if (act_for_others && (!now.known || now.uid != uid))
		(void)setfsuid(uid);
	now.uid = uid;
	now.gid = gid;
	now.known = true;
}
