/* Documents as the controller signs them, by a key of tests/unit/common/pki. */
#ifndef HAWSER_TESTS_CONTROL_SIGNING_H
#define HAWSER_TESTS_CONTROL_SIGNING_H

#include "common/id.h"
#include "common/model/signed_doc.h"

struct signed_doc signing_config(const char *signer, const struct hw_id *gateway, uint64_t revision,
                                 const char *body);
struct signed_doc signing_denials(const char *signer, uint64_t number, const char *body);

#endif
