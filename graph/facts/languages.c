/*
 * The languages this program reads. A file of its own: a program that defines
 * another lang_all[] links with that one instead.
 */
#include "graph/facts/lang.h"

const struct lang *const lang_all[] = { &lang_python, NULL };
