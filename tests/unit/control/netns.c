#include "tests/unit/control/netns.h"
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

void netns_enter_or_skip(const char *program)
{
    if (unshare(CLONE_NEWNET) < 0) {
        (void)printf("%s: skipped: no privilege for a network namespace\n", program);
        exit(0);
    }
    if (netns_sh("ip link set lo up") != 0)
        abort();
}

int netns_sh(const char *fmt, ...)
{
    char command[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    (void)fflush(stdout);
    int status = system(command); /* NOLINT: the tests' own text */
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *netns_line(const char *fmt, ...)
{
    static char line[1024];
    char command[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    line[0] = '\0';
    FILE *f = popen(command, "r"); /* NOLINT: the tests' own text */
    if (!f)
        abort();
    if (!fgets(line, sizeof line, f))
        line[0] = '\0';
    (void)pclose(f);
    line[strcspn(line, "\n")] = '\0';
    while (line[0] && line[strlen(line) - 1] == ' ')
        line[strlen(line) - 1] = '\0';
    return line;
}
