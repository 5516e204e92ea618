#include "agent/dataplane/esp_in.h"
#include "agent/dataplane/esp_aead.h"
#include "agent/dataplane/esp_out.h"
#include "agent/dataplane/inner.h"
#include "common/bytes.h"

/* Shortest text: pad length and next header, padded to 4. */
#define TEXT_MIN ESP_ALIGN

enum drop_reason esp_in_find(const struct sa_table *t, const uint8_t *dgram, size_t len,
                             struct sa **sa)
{
    if (len == 1 && dgram[0] == 0xff)
        return DROP_NAT_KEEPALIVE;
    if (len < 4)
        return DROP_ESP_SHORT;
    uint32_t spi = load_be32(dgram);
    if (spi == 0)
        return DROP_IKE;
    if (len < ESP_HEAD + TEXT_MIN + ESP_ICV_LEN || len % ESP_ALIGN != 0)
        return DROP_ESP_SHORT;
    struct sa *found = sa_table_find(t, spi);
    if (!found)
        return DROP_ESP_UNKNOWN_SPI;
    *sa = found;
    return DROP_NONE;
}

/* Padding must be 1, 2, 3, … (RFC 4303 section 2.4: the receiver should inspect it). A foreign peer
 * may pad more than we do. */
static enum drop_reason check_trailer(const uint8_t *text, size_t len, struct esp_opened *out)
{
    size_t pad = text[len - 2];
    if (pad + ESP_TRAILER_LEN > len)
        return DROP_ESP_PADDING;
    size_t inner_len = len - ESP_TRAILER_LEN - pad;
    for (size_t i = 0; i < pad; i++)
        if (text[inner_len + i] != i + 1)
            return DROP_ESP_PADDING;
    uint8_t next = text[len - 1];
    if (next == IP_PROTO_DUMMY)
        return DROP_ESP_DUMMY;
    if (next != IP_PROTO_IPV4_IN && next != IP_PROTO_IPV6_IN)
        return DROP_ESP_PADDING;
    out->len = inner_len;
    out->next_header = next;
    return DROP_NONE;
}

enum drop_reason esp_in_open(struct sa *sa, uint8_t *dgram, size_t len, uint8_t *dst,
                             struct esp_opened *out)
{
    uint64_t seq = replay_infer(&sa->replay, load_be32(dgram + 4));
    if (!replay_check(&sa->replay, seq)) {
        sa->replays++;
        return DROP_ESP_REPLAY;
    }
    if (sa_exhausted(sa))
        return DROP_ESP_SEQ_EXHAUSTED;
    struct esp_aead a;
    esp_aead_init(&a, sa, seq, dgram + ESP_HDR_LEN);
    size_t text = len - ESP_HEAD - ESP_ICV_LEN;
    struct aead_op op = {.src = dgram + ESP_HEAD,
                         .dst = dst,
                         .len = text,
                         .nonce = a.nonce,
                         .aad = a.aad,
                         .aad_len = a.aad_len};
    if (!sa->aead->open(sa->key, &op, dgram + ESP_HEAD + text)) {
        sa->auth_failures++;
        return DROP_ESP_AUTH;
    }
    replay_commit(&sa->replay, seq);
    if (!(sa->seen & SA_EVENT_FIRST)) {
        sa->seen |= SA_EVENT_FIRST;
        sa->events |= SA_EVENT_FIRST;
    }
    out->data = dst;
    out->seq = seq;
    enum drop_reason why = check_trailer(dst, text, out);
    sa_count(sa, why == DROP_NONE ? out->len : text);
    return why;
}
