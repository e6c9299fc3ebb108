/*
 * The demo's repository. Its test is a shell script, so that only a shell is
 * needed.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/base/cleanup.h"
#include "tools/cli/say.h"
#include "tools/verb/demo/demo.h"

static const char config_py[] =
	"\"\"\"Where the server finds its settings.\"\"\"\n"
	"\n"
	"import json\n"
	"\n"
	"DEFAULTS = {\"host\": \"127.0.0.1\", \"port\": 8080}\n"
	"\n"
	"\n"
	"def read_json(path):\n"
	"    with open(path) as f:\n"
	"        return json.load(f)\n"
	"\n"
	"\n"
	"def load_config(path):\n"
	"    config = dict(DEFAULTS)\n"
	"    config.update(read_json(path))\n"
	"    return config\n";

static const char server_py[] =
	"\"\"\"A server that says where it is.\"\"\"\n"
	"\n"
	"from app.config import load_config\n"
	"\n"
	"\n"
	"def address(config):\n"
	"    return config[\"host\"], config[\"port\"]\n"
	"\n"
	"\n"
	"def start(path):\n"
	"    config = load_config(path)\n"
	"    print(\"Listening on\", address(config))\n"
	"    return config\n";

static const char cli_py[] = "\"\"\"What the user types.\"\"\"\n"
			     "\n"
			     "from app.server import start\n"
			     "\n"
			     "\n"
			     "def main(words):\n"
			     "    if len(words) != 2:\n"
			     "        return \"usage: serve FILE\"\n"
			     "    return start(words[1])\n";

static const char check_sh[] =
	"#!/bin/sh\n"
	"# The test: does load_config look at the port?\n"
	"if grep -q 'raise ValueError' app/config.py; then\n"
	"	echo '1 passed'\n"
	"else\n"
	"	echo '1 failed: load_config accepts port -1'\n"
	"	exit 1\n"
	"fi\n";

static const char tidy_sh[] =
	"#!/bin/sh\n"
	"# The house style: messages begin with a small letter.\n"
	"sed -i 's/\"Listening/\"listening/' app/server.py\n";

int demo_make_repo(const char *repo)
{
	static const struct {
		const char *name, *text;
		mode_t mode;
	} files[] = {
		{ "app/__init__.py", "", 0644 },
		{ "app/cli.py", cli_py, 0644 },
		{ "app/config.py", config_py, 0644 },
		{ "app/server.py", server_py, 0644 },
		{ "check.sh", check_sh, 0755 },
		{ "tidy.sh", tidy_sh, 0755 },
	};
	CLEANUP(free_p) char *app = format_text("%s/app", repo);
	int r = mkdir(app, 0755) < 0 ? -errno : 0;

	for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(*files); i++) {
		CLEANUP(free_p)
		char *path = format_text("%s/%s", repo, files[i].name);

		r = demo_write(path, files[i].text, strlen(files[i].text));
		if (r == 0 && chmod(path, files[i].mode) < 0)
			r = -errno;
	}
	return r;
}
