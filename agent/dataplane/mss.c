#include "agent/dataplane/mss.h"
#include "agent/dataplane/checksum.h"
#include "common/bytes.h"

#define TCP_HDR_MIN 20
enum { OPT_END = 0, OPT_NOP = 1, OPT_MSS = 2, OPT_MSS_LEN = 4 };

/* Offset of the MSS value in the TCP header, 0 when there is none or the options are malformed. */
static size_t find_mss(const uint8_t *tcp, size_t hdr_len)
{
    for (size_t at = TCP_HDR_MIN; at < hdr_len;) {
        if (tcp[at] == OPT_END)
            return 0;
        if (tcp[at] == OPT_NOP) {
            at++;
            continue;
        }
        if (at + 2 > hdr_len || tcp[at + 1] < 2 || tcp[at + 1] > hdr_len - at)
            return 0;
        if (tcp[at] == OPT_MSS)
            return tcp[at + 1] == OPT_MSS_LEN ? at + 2 : 0;
        at += tcp[at + 1];
    }
    return 0;
}

/* The value may stand at an odd offset, where it shares two checksum words with its neighbours: a
 * 16-bit value over an odd boundary enters the sum byte-swapped. */
static void replace_value(uint8_t *tcp, size_t at, uint16_t value, bool partial)
{
    uint16_t from = checksum_load(tcp + at);
    store_be16(tcp + at, value);
    uint16_t to = checksum_load(tcp + at);
    if (partial)
        return;
    if (at & 1) {
        from = __builtin_bswap16(from);
        to = __builtin_bswap16(to);
    }
    checksum_replace16(tcp + 16, from, to);
}

bool mss_clamp(uint8_t *pkt, const struct inner *in, uint32_t mtu, bool partial)
{
    if (!mss_wanted(pkt, in))
        return false;
    uint32_t headers = in->family == 4 ? 40 : 60;
    uint8_t *tcp = pkt + in->l4;
    size_t hdr_len = (size_t)(tcp[12] >> 4) * 4;
    if (mtu <= headers || hdr_len < TCP_HDR_MIN || hdr_len > (size_t)in->len - in->l4)
        return false;
    size_t at = find_mss(tcp, hdr_len);
    if (!at || load_be16(tcp + at) <= mtu - headers)
        return false;
    replace_value(tcp, at, (uint16_t)(mtu - headers), partial);
    return true;
}
