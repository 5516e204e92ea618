/* The peer's certificate as an SA carries it (common/dp_proto.h). */
#ifndef HAWSER_AGENT_CONTROL_KEYING_PEER_CERT_H
#define HAWSER_AGENT_CONTROL_KEYING_PEER_CERT_H

#include "agent/control/keying/denied.h"
#include "common/dp_proto.h"
#include "common/x509.h"

struct dp_peer_cert peer_cert_of(const struct x509_info *info);
/* One whose serial is unknown is never denied. */
bool peer_cert_denied(const struct dp_peer_cert *c, const struct denied *d);
/* Its end has passed; false while that is unknown. */
bool peer_cert_ended(const struct dp_peer_cert *c, int64_t now_s);

#endif
