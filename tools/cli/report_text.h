/*
 * The manager's REPORT and CONTEXT answers (manager/report/report.h) for
 * people.
 */
#ifndef STATETAPE_TOOLS_CLI_REPORT_TEXT_H
#define STATETAPE_TOOLS_CLI_REPORT_TEXT_H

#include <stdio.h>

#include <cjson/cJSON.h>

void report_print(FILE *out, const cJSON *answer);
void report_print_context(FILE *out, const cJSON *answer);
/* The one line of a REPORT that a person cares about. */
void report_print_brief(FILE *out, const cJSON *answer);

#endif
