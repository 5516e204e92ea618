#include "agent/dataplane/checksum.h"
#include "common/bytes.h"

/* One copy of the loop for each instruction set, chosen at load time. Sanitizers instrument the
 * chooser itself, which runs before they are ready, so they get the plain one. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CHECKSUM_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CHECKSUM_CLONES
#endif

/* Vectors of the compiler: 64 bytes as sixteen 32-bit words, or as eight 64-bit sums that can't
 * overflow. */
typedef uint64_t sums __attribute__((vector_size(64)));

/* Whole blocks of 64 bytes. Each 64-bit lane takes its two 32-bit words apart: mask and shift are
 * cheaper than widening, and a carry is never lost. */
CHECKSUM_CLONES
static uint64_t add_blocks(const uint8_t *p, size_t blocks, uint64_t sum)
{
    sums low = {0}, high = {0};
    for (size_t i = 0; i < blocks; i++) {
        sums v;
        memcpy(&v, p + i * 64, sizeof v);
        low += v & 0xffffffffu;
        high += v >> 32;
    }
    low += high;
    for (unsigned i = 0; i < 8; i++)
        sum += low[i];
    return sum;
}

uint64_t checksum_add(const void *data, size_t len, uint64_t sum)
{
    const uint8_t *p = data;
    if (len >= 64) {
        sum = add_blocks(p, len / 64, sum);
        p += len & ~(size_t)63;
        len &= 63;
    }
    for (; len >= 8; len -= 8, p += 8) {
        uint64_t v;
        memcpy(&v, p, sizeof v);
        sum += (v & 0xffffffffu) + (v >> 32);
    }
    if (len) {
        uint64_t v = 0;
        memcpy(&v, p, len);
        sum += (v & 0xffffffffu) + (v >> 32);
    }
    return sum;
}

uint64_t checksum_pseudo(const struct inner *in, uint8_t proto, uint32_t l4_len)
{
    uint8_t tail[8] = {0};
    store_be32(tail, l4_len);
    tail[7] = proto;
    uint64_t sum = checksum_add(tail, sizeof tail, 0);
    sum = checksum_add(in->src, inner_addr_len(in), sum);
    return checksum_add(in->dst, inner_addr_len(in), sum);
}

void checksum_replace16(void *p, uint16_t from, uint16_t to)
{
    uint64_t sum = (uint16_t)~checksum_load(p);
    sum += (uint16_t)~from;
    sum += to;
    checksum_store(p, (uint16_t)~checksum_fold(sum));
}

void checksum_ipv4_set(uint8_t *hdr, size_t ihl)
{
    checksum_store(hdr + 10, 0);
    checksum_store(hdr + 10, (uint16_t)~checksum_fold(checksum_add(hdr, ihl, 0)));
}

bool checksum_ipv4_ok(const uint8_t *hdr, size_t ihl)
{
    return checksum_fold(checksum_add(hdr, ihl, 0)) == 0xffff;
}

bool checksum_complete(uint8_t *pkt, size_t len, size_t start, size_t offset, bool udp)
{
    if (start > len || len - start < 2 || offset > len - start - 2)
        return false;
    uint16_t sum = (uint16_t)~checksum_fold(checksum_add(pkt + start, len - start, 0));
    if (udp && sum == 0)
        sum = 0xffff;
    checksum_store(pkt + start + offset, sum);
    return true;
}

bool checksum_l4_ok(const uint8_t *pkt, const struct inner *in)
{
    uint32_t l4_len = (uint32_t)in->len - in->l4;
    if (in->proto == IP_PROTO_UDP && (l4_len < 8 || checksum_load(pkt + in->l4 + 6) == 0))
        return false;
    uint64_t sum = checksum_pseudo(in, in->proto, l4_len);
    return checksum_fold(checksum_add(pkt + in->l4, l4_len, sum)) == 0xffff;
}
