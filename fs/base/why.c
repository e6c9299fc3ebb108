#include "fs/base/why.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int why(char **ret_why, int error, const char *format, ...)
{
	va_list ap;

	assert(error >= 0);
	if (!ret_why)
		return -error;
	free(*ret_why);
	va_start(ap, format);
	if (vasprintf(ret_why, format, ap) < 0)
		*ret_why = NULL;
	va_end(ap);
	return -error;
}
