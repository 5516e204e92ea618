/* Why the engine dropped a packet: one counter each, per worker. Order is wire format of dp_stats:
 * append only. */
#ifndef HAWSER_COMMON_DROP_REASON_H
#define HAWSER_COMMON_DROP_REASON_H

/* X(enumerator, name in metrics and status, description for people) */
#define DROP_REASONS(X)                                                                            \
    X(DROP_NONE, "none", "not dropped")                                                            \
    X(DROP_INNER_MALFORMED, "inner_malformed", "inner packet's header is not valid IPv4 or IPv6")  \
    X(DROP_INNER_SOURCE, "inner_source",                                                           \
      "inner source does not belong to where the packet came from")                                \
    X(DROP_NO_ROUTE, "no_route", "no route for this domain, ingress class and destination")        \
    X(DROP_UNREACHABLE, "unreachable", "route says unreachable")                                   \
    X(DROP_NO_TUNNEL, "no_tunnel", "no live tunnel in the next-hop set")                           \
    X(DROP_NO_SA, "no_sa", "tunnel has no outbound SA")                                            \
    X(DROP_TOO_BIG, "too_big", "larger than the path MTU with DF set (answered by ICMP)")          \
    X(DROP_TTL, "ttl", "TTL or hop limit reached zero")                                            \
    X(DROP_BAD_GSO, "bad_gso", "super-packet's header is inconsistent")                            \
    X(DROP_NO_BUFFER, "no_buffer", "packet pool of the worker is empty")                           \
    X(DROP_TUN_WRITE, "tun_write", "the TUN device refused the packet")                            \
    X(DROP_UDP_SEND, "udp_send", "the socket refused the packet")                                  \
    X(DROP_UDP_FULL, "udp_full", "the socket's send buffer was full")                              \
    X(DROP_ESP_SHORT, "esp_short", "datagram too short for ESP")                                   \
    X(DROP_ESP_UNKNOWN_SPI, "esp_unknown_spi", "no SA with this SPI on this worker")               \
    X(DROP_ESP_REPLAY, "esp_replay", "sequence number seen before or left of the window")          \
    X(DROP_ESP_AUTH, "esp_auth", "integrity check failed")                                         \
    X(DROP_ESP_PADDING, "esp_padding", "padding or next header not valid")                         \
    X(DROP_ESP_DUMMY, "esp_dummy", "dummy packet (next header 59), discarded as RFC 4303 asks")    \
    X(DROP_ESP_SEQ_EXHAUSTED, "esp_seq_exhausted",                                                 \
      "sequence numbers of the outbound SA are used up")                                           \
    X(DROP_ESP_NO_LINK, "esp_no_link", "the SA's link is disabled")                                \
    X(DROP_NAT_KEEPALIVE, "nat_keepalive", "NAT keepalive (RFC 3948 section 2.3), discarded")      \
    X(DROP_IKE, "ike", "non-ESP marker: nobody speaks IKE here")                                   \
    X(DROP_HANDOFF_FULL, "handoff_full", "hand-off ring to the owning worker was full")            \
    X(DROP_LOOP, "loop", "would leave by the gateway it came from")                                \
    X(DROP_STAMP, "stamp", "STAMP packet that fits no probe")                                      \
    X(DROP_ECN, "ecn", "congestion mark on a packet that cannot carry it (RFC 6040)")              \
    X(DROP_LINK_SCOPE, "link_scope",                                                               \
      "the gateway's own multicast of link scope (MLD, IGMP): meant for no other network")

enum drop_reason {
#define DROP_ENUM_(id, name, text) id,
    DROP_REASONS(DROP_ENUM_)
#undef DROP_ENUM_
        DROP_COUNT
};

const char *drop_reason_name(unsigned reason);
const char *drop_reason_text(unsigned reason);

#endif
