#include "agent/control/conntrack.h"
#include <inttypes.h>
#include <stdio.h>

static bool read_number(const char *path, uint64_t *out)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool ok = fscanf(f, "%" SCNu64, out) == 1;
    (void)fclose(f);
    return ok;
}

struct report_conntrack conntrack_read(void)
{
    struct report_conntrack c = {0};
    c.known = read_number("/proc/sys/net/netfilter/nf_conntrack_count", &c.entries) &&
              read_number("/proc/sys/net/netfilter/nf_conntrack_max", &c.max);
    return c;
}
