#include "agent/control/keying/peer_cert.h"
#include "common/hex.h"
#include <string.h>

struct dp_peer_cert peer_cert_of(const struct x509_info *info)
{
    struct dp_peer_cert c = {.not_after = info->not_after};
    size_t len = strlen(info->serial) / 2;
    if (len <= sizeof c.serial && hex_decode(info->serial, c.serial, len) == 0)
        c.serial_len = (uint8_t)len;
    return c;
}

bool peer_cert_denied(const struct dp_peer_cert *c, const struct denied *d)
{
    char serial[X509_SERIAL_MAX];
    return c->serial_len > 0 && denied_serial(d, hex_encode(c->serial, c->serial_len, serial));
}

bool peer_cert_ended(const struct dp_peer_cert *c, int64_t now_s)
{
    return c->not_after != 0 && now_s > c->not_after;
}
