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

/* Constant after cred_init(). */
static bool act_for_others;
static bool override_modes;
static bool own_namespace; /* capabilities do not cover others' files */

/* This thread's identity, which is per thread in the kernel too. */
static _Thread_local struct {
	bool own_umask; /* the umask is no longer shared with other threads */
	bool known;
	uid_t uid;
	gid_t gid;
	mode_t umask_bits;
} now;

/* True unless this user namespace maps every user to itself. */
static bool in_own_namespace(void)
{
	FILE *map = fopen("/proc/self/uid_map", "re");
	char line[64] = "";
	char *at = line;
	unsigned long inner, outer;

	if (!map)
		return true;
	if (!fgets(line, sizeof(line), map))
		line[0] = '\0';
	(void)fclose(map);
	inner = strtoul(at, &at, 10);
	outer = strtoul(at, &at, 10);
	return inner != 0 || outer != 0 || strtoul(at, NULL, 10) != UINT32_MAX;
}

bool cred_init(void)
{
	/*
	 * Without this bit, leaving fsuid 0 drops the file capabilities.
	 * Creating a file would then fail in a directory that the caller may
	 * write through a supplementary group, since we take on the main group
	 * only. The kernel has checked the caller's permissions already.
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
	/* Threads share one umask until unshare(2). */
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
