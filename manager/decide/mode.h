/* When stale records are replaced (manager/README.md, Modes). */
#ifndef STATETAPE_MANAGER_DECIDE_MODE_H
#define STATETAPE_MANAGER_DECIDE_MODE_H

enum mode {
	MODE_OFF,    /* observe and report; requests pass unchanged */
	MODE_PINNED, /* notes at once, in place when that is free or pays */
	MODE_EAGER,  /* in place, at once */
	MODES
};
extern const char *const mode_names[MODES];

#endif
