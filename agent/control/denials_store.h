/*
 * The denials in force (DESIGN section 4, "Denials never roll back"): one signed document, the same
 * for all gateways, with a rising number of its own, kept in STATE_DIR/denials.doc over restart and
 * rollback.
 */
#ifndef HAWSER_AGENT_CONTROL_DENIALS_STORE_H
#define HAWSER_AGENT_CONTROL_DENIALS_STORE_H

#include "common/err.h"
#include "common/model/signed_doc.h"
#include <stdint.h>

struct denials_store;

/* Loads what is on disk. A damaged document is an error: nobody may be un-revoked by a bad block.
 */
int denials_store_open(const char *state_dir, const struct x509_st *ca, struct denials_store **out,
                       struct err *e);
void denials_store_free(struct denials_store *d);

/* 0: none received yet. */
uint64_t denials_store_number(const struct denials_store *d);
/* The document in force; empty when there is none. */
const struct denials *denials_store_get(const struct denials_store *d);

/* Judges a received document (doc is taken over and emptied, whatever comes of it): signature,
 * number not lower than the one in force (HW_ESTALE), body. In force when this returns 0, and on
 * disk unless that is full, which is logged. */
int denials_store_take(struct denials_store *d, struct signed_doc *doc, const struct x509_st *ca,
                       int64_t now_s, struct err *e);

#endif
