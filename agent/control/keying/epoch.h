/*
 * From one epoch to the next: runs a link's exchange, carries its actions to connection and
 * dataplane in their order, retires what is over, and adopts what a dataplane already holds.
 */
#ifndef HAWSER_AGENT_CONTROL_KEYING_EPOCH_H
#define HAWSER_AGENT_CONTROL_KEYING_EPOCH_H

#include "agent/control/keying/keylink.h"

/* This end's OFFER, on l->xconn. */
void epoch_begin(struct keylink *l);
/* The peer's OFFER, which came on l->xconn. */
void epoch_respond(struct keylink *l, const struct message *offer, const uint8_t *raw, size_t len);
/* ACCEPT, READY, REFUSE, or one that has no place in an exchange. */
void epoch_message(struct keylink *l, const struct message *m, const uint8_t *raw, size_t len);
/* l->xconn is gone. */
void epoch_closed(struct keylink *l, const char *why);
/* The exchange under way is given up without counting as a failure. */
void epoch_abandon(struct keylink *l);

/* Not before then may this end start an epoch: the last one isn't confirmed both ways. */
uint64_t epoch_allowed_ns(struct keylink *l);
/* An exchange's deadline, inbound SAs whose time is over. */
void epoch_tick(struct keylink *l, uint64_t now);
/* When epoch_tick() is next needed. */
uint64_t epoch_next_ns(const struct keylink *l);

void epoch_event(struct keylink *l, enum dp_type type, const struct dp_sa_event *ev);
/* The peer sends by `epoch` (HELLO; 0: by none). */
void epoch_peer_sends(struct keylink *l, uint64_t epoch);
/* The peer no longer sends by `epoch` (DELETE). */
void epoch_peer_deleted(struct keylink *l, uint64_t epoch);

/* A dataplane's dump rules over what was known. */
void epoch_adopt(struct keylink *l, const struct dp_dump *dump);
/* Epochs of denied certificates go. False: the one in use, or the one in the making, is such. */
bool epoch_judge(struct keylink *l);
/* Retires all SAs of the link. */
void epoch_drop_all(struct keylink *l);
/* The link goes, and with it, by LINK_REMOVE, every SA it has: the hour of their SPIs begins. */
void epoch_forget(struct keylink *l);

#endif
