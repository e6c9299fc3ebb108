/* What wire.c shares with call.c. */
#ifndef STATETAPE_TAPE_WIRE_WIRE_I_H
#define STATETAPE_TAPE_WIRE_WIRE_I_H

#include "tape/wire/sp.h"
#include "tape/wire/wire.h"

#define WIRE_NUMBER 4 /* bytes */

/* A connection for one question needs one number. */
extern const char wire_ask_number[WIRE_NUMBER];

/* The whole question as text (free it), -EMSGSIZE, -ENOMEM or -EINVAL. */
int wire_question_text(const char *ask, const cJSON *question, char **ret);
/* The message that has arrived, without its number; see wire_ask(). */
int wire_answer_read(const struct sp_conn *c, cJSON **ret);

#endif
