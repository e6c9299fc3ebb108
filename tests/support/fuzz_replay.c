/*
 * The main() of a fuzzer in builds without libFuzzer: passes every file of a
 * corpus directory to the entry point once. Inputs that a fuzzer found are thus
 * tested with any compiler and under any sanitizer.
 */
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/*
 * The buffer has exactly the file's size, so that ASan reports a read behind
 * it.
 */
static int replay(const char *dir, const char *name)
{
	CLEANUP(free_p) char *path = NULL;
	CLEANUP(free_p) uint8_t *data = NULL;
	CLEANUP(fclose_p) FILE *f = NULL;
	struct stat st;
	size_t len;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return 1;
	f = fopen(path, "re");
	if (!f || fstat(fileno(f), &st) < 0) {
		perror(path);
		return 1;
	}
	len = (size_t)st.st_size;
	data = malloc(len ? len : 1);
	if (!data || fread(data, 1, len, f) != len) {
		perror(path);
		return 1;
	}
	(void)LLVMFuzzerTestOneInput(data, len);
	return 0;
}

int main(int argc, char **argv)
{
	CLEANUP(closedir_p) DIR *dir = NULL;
	struct dirent *entry;
	int failed = 0;
	int count = 0;

	dir = argc == 2 ? opendir(argv[1]) : NULL;
	if (!dir) {
		(void)fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
		return 2;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		failed |= replay(argv[1], entry->d_name);
		count++;
	}
	(void)printf("%d inputs\n", count);
	return failed || count == 0;
}
