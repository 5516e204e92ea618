/*
 * Signed configs on disk (DESIGN section 4, "Confirmed apply"): *confirmed* and *candidate*, and
 * beside them the newest revision received and the refused ones. Files in STATE_DIR:
 * config-confirmed.doc, config-candidate.doc, config-state.json. Every change is tmp, fsync,
 * rename, fsync of the directory: a crash at any point leaves the old or the new state.
 */
#ifndef HAWSER_AGENT_CONTROL_CONFIG_STORE_H
#define HAWSER_AGENT_CONTROL_CONFIG_STORE_H

#include "common/err.h"
#include "common/id.h"
#include "common/model/gateway_config.h"
#include "common/model/report.h"
#include "common/model/signed_doc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config_store;

/* A verified config; immutable but for its references. The store holds one of each of its own. */
struct stored_config {
    unsigned refs;
    struct signed_doc doc;
    struct gateway_config config;
    struct hw_id boot; /* candidate: the machine's boot id when it came; zero for a confirmed one */
};

struct stored_config *stored_config_ref(struct stored_config *c);
void stored_config_unref(struct stored_config *c); /* NULL is accepted */

/* Opens STATE_DIR; configs are judged against `gateway` and `ca`, each at the time it was accepted.
 * One that no longer passes is told and treated as absent. */
int config_store_open(const char *state_dir, const struct hw_id *gateway, const struct x509_st *ca,
                      struct config_store **out, struct err *e);
void config_store_free(struct config_store *s);

/* NULL: none. Valid until the next take, confirm, refuse or free, unless a reference is taken. */
struct stored_config *config_store_confirmed(const struct config_store *s);
struct stored_config *config_store_candidate(const struct config_store *s);
/* Newest revision whose signature held, whatever became of it. */
uint64_t config_store_received(const struct config_store *s);
/* The newest REPORT_REFUSED_MAX of the refused revisions, oldest first. */
size_t config_store_refused(const struct config_store *s, const struct report_refused **out);
bool config_store_is_refused(const struct config_store *s, uint64_t revision);

/*
 * Judges what came from the controller (doc is taken over and emptied, whatever comes of it):
 * signer and signature for our id (HW_EAUTH), revision not lower than the newest received
 * (HW_ESTALE) and not refused before (HW_EFORBIDDEN), body valid and for us (HW_EINVAL; the
 * revision is then refused for good). `received` rises whenever the signature holds. On success the
 * config stands on disk as candidate.
 */
int config_store_take(struct config_store *s, struct signed_doc *doc, const struct x509_st *ca,
                      int64_t now_s, const struct hw_id *boot, struct err *e);

/* The candidate becomes confirmed. */
int config_store_confirm(struct config_store *s, struct err *e);
/* The candidate is dropped and its revision refused for good: in memory even when it cannot be
 * written (negative code). */
int config_store_refuse(struct config_store *s, const char *reason, struct err *e);

#endif
