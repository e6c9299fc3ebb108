/* How a manager acts on what it finds (spec, section 6). */
#ifndef STATETAPE_MANAGER_DECIDE_MODE_H
#define STATETAPE_MANAGER_DECIDE_MODE_H

enum mode {
	MODE_OFF,    /* observe and report, send what was received */
	MODE_PINNED, /* notes at once, in place when it is free or pays */
	MODE_EAGER,  /* in place, at once */
	MODES
};
extern const char *const mode_names[MODES];

#endif
