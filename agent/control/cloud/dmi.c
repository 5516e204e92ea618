#include "agent/control/cloud/dmi.h"
#include "common/fsutil.h"
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_MAX 256

/* Firmware of a machine on Hyper-V at home says Microsoft too, hence the asset tag; before Nitro
 * Amazon's machines said Xen, and the maker's name stood in the version alone. */
static const struct {
    const char *provider, *field, *text;
    bool whole;
} marks[] = {
    {"aws", "sys_vendor", "Amazon EC2", true},
    {"aws", "bios_version", "amazon", false},
    {"azure", "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", true},
    {"gcp", "product_name", "Google Compute Engine", true},
    {"oci", "chassis_asset_tag", "OracleCloud.com", true},
};

static void read_field(const char *dir, const char *field, char out[FIELD_MAX])
{
    char path[PATH_MAX], *text;
    size_t len;
    out[0] = '\0';
    int n = snprintf(path, sizeof path, "%s/%s", dir, field);
    if (n < 0 || (size_t)n >= sizeof path ||
        fsutil_read(path, FIELD_MAX - 1, &text, &len, NULL) < 0)
        return;
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    memcpy(out, text, len);
    out[len] = '\0';
    free(text);
}

const char *cloud_dmi_provider(const char *dir)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        char have[FIELD_MAX];
        read_field(dir, marks[i].field, have);
        if (marks[i].whole ? strcmp(have, marks[i].text) == 0 : strstr(have, marks[i].text) != NULL)
            return marks[i].provider;
    }
    return NULL;
}
