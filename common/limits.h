/* Limits that more than one process must agree on. Each is checked at the edge where the value
 * comes in. */
#ifndef HAWSER_COMMON_LIMITS_H
#define HAWSER_COMMON_LIMITS_H

#define HW_TUNNELS_PER_LINK_MAX 50 /* also the number of UDP ports of a gateway */
#define HW_PORTS_PER_GATEWAY    50
#define HW_PORT_BASE_DEFAULT    4510
#define HW_LINKS_MAX            1024 /* of one gateway */
#define HW_TUNNELS_MAX          8192 /* of one gateway, over all links */
#define HW_WORKERS_MAX          64
#define HW_DOMAINS_MAX          1024
#define HW_FIB_ROUTES_MAX       65536
#define HW_FIB_SOURCES_MAX      65536
#define HW_FIB_SETS_MAX         4096
#define HW_FIB_SET_MEMBERS_MAX  64
#define HW_BUCKETS              4096 /* resilient buckets of a next-hop set */
#define HW_NAME_MAX             63   /* 1 to 63 of [a-z0-9-], as a DNS label */
#define HW_TEXT_MAX             200
#define HW_SITE_CIDRS_MAX       256
/* Inner MTU below which a link carries nothing: IPv4 promises its hosts 576 bytes (RFC 791). */
#define HW_LINK_MTU_MIN     576u
#define HW_ENDPOINTS_MAX    16
#define HW_INTERFACES_MAX   32
#define HW_URLS_MAX         8
#define HW_CONFIG_BODY_MAX  (8u << 20)
#define HW_REQUEST_BODY_MAX (1u << 20)
#define HW_JSON_DEPTH_MAX   32
#define HW_CPUS_MAX         1024

/* Constants of the gateway's own place in the kernel (DESIGN section 6). */
#define HW_TUN_NAME        "hawser0"
#define HW_MARK            0x4877u
#define HW_TABLE           18551u
#define HW_RULE_PRIO_OWN   18550u
#define HW_RULE_PRIO_TABLE 18551u

#endif
