/* A folded ruleset as one transaction of nftables: the table made anew, whole, or not at all. */
#ifndef HAWSER_AGENT_CONTROL_FIREWALL_NFT_TEXT_H
#define HAWSER_AGENT_CONTROL_FIREWALL_NFT_TEXT_H

#include "agent/control/firewall/counts.h"
#include "common/model/firewall_fold.h"

#define FIREWALL_TABLE "hawser_firewall"
#define FIREWALL_EDGE  "edge" /* the chain that judges */

/* The table is left without a word when there is nothing to remove. */
#define FIREWALL_REMOVE "table inet " FIREWALL_TABLE "\ndelete table inet " FIREWALL_TABLE "\n"

/* `mark` is kept as the table's comment (at most 128 of [0-9a-z]) and the counters begin at those
 * of `counts`; NULL: without. Each element has the index of its rule as comment, and the first one
 * of a rule what the rule counted before. Free the text; NULL when out of memory. */
char *nft_text(const struct firewall *f, const struct firewall_fold *fold, const char *mark,
               const struct firewall_counts *counts);

/* Rules that chain FIREWALL_EDGE has: with fewer, somebody took some of them away. */
size_t nft_text_edge_rules(const struct firewall *f, const struct firewall_fold *fold);

#endif
