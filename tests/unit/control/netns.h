/* A network namespace of the test's own. Without the privilege for one the test program ends with
 * success and says that it was skipped. */
#ifndef HAWSER_TESTS_CONTROL_NETNS_H
#define HAWSER_TESTS_CONTROL_NETNS_H

/* Moves this process into a fresh namespace with `lo` up. */
void netns_enter_or_skip(const char *program);
/* Runs a shell command; its exit status. */
int netns_sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* First line of a command's output, without the newline. Static buffer. */
const char *netns_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
