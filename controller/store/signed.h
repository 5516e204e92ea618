/* Signed documents as they are given out: each gateway's config and the fleet's denials. */
#ifndef HAWSER_CONTROLLER_STORE_SIGNED_H
#define HAWSER_CONTROLLER_STORE_SIGNED_H

#include "common/id.h"
#include "controller/store/store.h"

struct store_signed {
    uint64_t number; /* config_revision, or the number of the denials */
    char *body;      /* exact bytes that were signed over; NUL-terminated besides; owned */
    size_t body_len;
    uint8_t *signature; /* DER; owned */
    size_t signature_len;
    uint8_t *signer; /* certificate of the signing key, DER; owned */
    size_t signer_len;
};
void store_signed_done(struct store_signed *d);

int store_config_put(struct db *db, const struct hw_id *gateway_id, const struct store_signed *d,
                     struct err *e);
/* HW_ENOTFOUND when nothing was planned for the gateway yet. */
int store_config_get(struct db *db, const struct hw_id *gateway_id, struct store_signed *out,
                     struct err *e);
/* The number alone; 0 when there is none. */
int store_config_revision(struct db *db, const struct hw_id *gateway_id, uint64_t *out,
                          struct err *e);
/* No error when there was none. */
int store_config_delete(struct db *db, const struct hw_id *gateway_id, struct err *e);

int store_denials_doc_put(struct db *db, const struct store_signed *d, struct err *e);
int store_denials_doc_get(struct db *db, struct store_signed *out, struct err *e);
/* 0 when there is none. */
int store_denials_doc_number(struct db *db, uint64_t *out, struct err *e);

#endif
