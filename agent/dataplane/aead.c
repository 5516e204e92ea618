#include "agent/dataplane/aead.h"
#include "agent/dataplane/aead_providers.h"
#include <string.h>

/* Fastest first: "auto" takes the first that runs on this machine. */
static const struct {
    const struct aead_provider *provider;
    int (*init)(struct err *e);
    bool (*usable)(void);
} rows[] = {
    {&aead_ipsec_mb, aead_ipsec_mb_init, aead_ipsec_mb_usable},
    {&aead_openssl, aead_openssl_init, aead_openssl_usable},
};
#define N_ROWS (sizeof rows / sizeof rows[0])

int aead_init(struct err *e)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        int rc = rows[i].init(e);
        if (rc < 0)
            return err_wrap(e, "AEAD provider %s", rows[i].provider->name);
    }
    return 0;
}

const struct aead_provider *aead_provider_by_name(const char *name)
{
    bool any = strcmp(name, "auto") == 0;
    for (size_t i = 0; i < N_ROWS; i++)
        if ((any || strcmp(name, rows[i].provider->name) == 0) && rows[i].usable())
            return rows[i].provider;
    return NULL;
}

const struct aead_provider *aead_provider_at(size_t i)
{
    return i < N_ROWS ? rows[i].provider : NULL;
}
