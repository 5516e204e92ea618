#include "controller/agent_api/reply.h"
#include "common/b64url.h"
#include "common/cleanup.h"
#include <inttypes.h>

int reply_signed(struct http_response *res, const struct store_signed *doc, struct err *e)
{
    auto_free char *signature = b64url_encode(doc->signature, doc->signature_len);
    auto_free char *signer = b64url_encode(doc->signer, doc->signer_len);
    if (!signature || !signer)
        return err_set(e, HW_ENOMEM, "out of memory");
    http_response_copy(res, 200, "application/json", doc->body, doc->body_len);
    http_response_header(res, "Hawser-Revision", "%" PRIu64, doc->number);
    http_response_header(res, "Hawser-Signature", "%s", signature);
    http_response_header(res, "Hawser-Signer", "%s", signer);
    return 0;
}
