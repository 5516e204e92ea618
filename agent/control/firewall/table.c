#include "agent/control/firewall/table.h"
#include "agent/control/firewall/counts.h"
#include "agent/control/firewall/nft_text.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/hex.h"
#include "common/log.h"
#include "common/strbuf.h"
#include <malloc.h>
#include <nftables/libnftables.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK_MAX (2 * SHA256_DIGEST_LENGTH + 1)
/* Looks take a hundredth of the time at most: one at 5,000 rules costs 0.2 s, one at 5 costs 1 ms.
 */
#define LOOK_SHARE 100

/* What a listing of the table must show: the kernel keeps its name and comment also when somebody
 * flushes what is in it, and then everything passes. */
struct shape {
    size_t edge_rules;
    size_t elements;
};

struct firewall_table {
    bool wanted; /* a ruleset is */
    struct hw_id wanted_id;
    bool present; /* ours stands, as far as we know */
    struct shape shape;
    char mark[MARK_MAX];
    struct firewall_counts counts;
    uint64_t next_look_ns;       /* no look at the counters before */
    char error[HW_TEXT_MAX + 1]; /* of the last apply or look; "" when it went well */
};

/* ---- libnftables ---- */

/* The first line of its errors: the rest is the text that it read, with a marker under it. */
static int nft_failed(struct nft_ctx *nft, int rc, struct err *e)
{
    const char *text = nft_ctx_get_error_buffer(nft);
    if (!text)
        text = "";
    return err_set(e, rc, "nftables: %.*s", (int)strcspn(text, "\n"), text);
}

/* Runs commands; *output (may be NULL) gets what they print. */
static int nft_run(const char *commands, unsigned flags, char **output, struct err *e)
{
    struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
    int rc = 0;
    if (!nft)
        return err_set(e, HW_ENOMEM, "nftables: no context");
    nft_ctx_output_set_flags(nft, flags);
    if (nft_ctx_buffer_error(nft) != 0 || nft_ctx_buffer_output(nft) != 0)
        rc = err_set(e, HW_ENOMEM, "nftables: no buffer");
    else if (nft_run_cmd_from_buffer(nft, commands) != 0)
        rc = nft_failed(nft, HW_EFAIL, e);
    if (!rc && output) {
        const char *text = nft_ctx_get_output_buffer(nft);
        *output = strdup(text ? text : "");
        if (!*output)
            rc = err_set(e, HW_ENOMEM, "out of memory");
    }
    nft_ctx_free(nft);
    return rc;
}

static struct shape shape_of(const struct firewall *f, const struct firewall_fold *fold)
{
    struct shape s = {.edge_rules = nft_text_edge_rules(f, fold)};
    for (unsigned i = 0; i < FOLD_SPACES; i++)
        s.elements += fold->spaces[i].n_boxes;
    return s;
}

static bool has_shape(const struct firewall_counts *seen, const struct shape *s)
{
    return seen->edge_rules == s->edge_rules && seen->elements == s->elements;
}

static int list(char **listing, struct err *e)
{
    return nft_run("list table inet " FIREWALL_TABLE,
                   NFT_CTX_OUTPUT_JSON | NFT_CTX_OUTPUT_NUMERIC_ALL, listing, e);
}

/* The comment of a table, which JSON leaves out. */
static bool has_mark(const char mark[MARK_MAX])
{
    auto_free char *out = NULL;
    char comment[MARK_MAX + 16];
    (void)snprintf(comment, sizeof comment, "comment \"%s\"", mark);
    return nft_run("list table inet " FIREWALL_TABLE, NFT_CTX_OUTPUT_TERSE, &out, NULL) == 0 &&
           strstr(out, comment) != NULL;
}

/* Is there a table of ours, of this mark, and whole? Then `counts` has what it counted. A kernel
 * without nftables has none. */
static bool stands(const char mark[MARK_MAX], const struct shape *shape,
                   struct firewall_counts *counts)
{
    auto_free char *listing = NULL;
    return has_mark(mark) && list(&listing, NULL) == 0 &&
           firewall_counts_look(counts, listing, NULL) == 0 && has_shape(counts, shape);
}

/* Is there a table of ours? Without reading what is in it, which `list table` does even where it
 * prints little. */
static bool exists(void)
{
    auto_free char *out = NULL;
    return nft_run("list tables inet", 0, &out, NULL) == 0 &&
           strstr(out, "table inet " FIREWALL_TABLE "\n") != NULL;
}

/* Thousands of rules leave tens of megabytes of small free pieces behind. */
static void give_back(void)
{
    (void)malloc_trim(0);
}

/* Digest of the table without its counters and of the rules' ids, which the table knows by their
 * places alone. */
static int mark_of(const struct firewall *f, const struct firewall_fold *fold, char mark[MARK_MAX],
                   struct err *e)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    auto_free char *text = nft_text(f, fold, NULL, NULL);
    struct strbuf whole = STRBUF_INIT;
    if (text)
        strbuf_puts(&whole, text);
    for (size_t i = 0; i < f->n_rules; i++)
        strbuf_add(&whole, &f->rules[i].id, sizeof f->rules[i].id);
    bool ok = text && !whole.failed;
    if (ok)
        (void)SHA256((const unsigned char *)whole.data, whole.len, digest);
    if (ok)
        (void)hex_encode(digest, sizeof digest, mark);
    strbuf_done(&whole);
    return ok ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

/* ---- table ---- */

int firewall_table_new(struct firewall_table **out, struct err *e)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

void firewall_table_free(struct firewall_table *t)
{
    if (!t)
        return;
    firewall_counts_done(&t->counts);
    free(t);
}

int firewall_table_remove(struct err *e)
{
    if (!exists())
        return 0;
    return nft_run(FIREWALL_REMOVE, 0, NULL, e);
}

static int remove_ours(struct firewall_table *t, struct err *e)
{
    /* Also after a start: a former agent may have left one. */
    int rc = firewall_table_remove(e);
    if (rc)
        return rc;
    t->present = false;
    t->mark[0] = '\0';
    firewall_counts_done(&t->counts);
    return 0;
}

static void adopt(struct firewall_table *t, const char mark[MARK_MAX], const struct shape *shape,
                  struct firewall_counts *next)
{
    firewall_counts_done(&t->counts);
    t->counts = *next;
    t->shape = *shape;
    memcpy(t->mark, mark, MARK_MAX);
    t->present = true;
}

/* Looks at the counters now. */
static int look(struct firewall_table *t, struct err *e)
{
    auto_free char *listing = NULL;
    int rc = list(&listing, e);
    if (rc)
        return rc == HW_EFAIL ? HW_ENOTFOUND : rc;
    rc = firewall_counts_look(&t->counts, listing, e);
    return rc || has_shape(&t->counts, &t->shape)
               ? rc
               : err_set(e, HW_ENOTFOUND, "rules are missing in the table");
}

/* One transaction; the counters begin at what the former table has counted. */
static int replace(struct firewall_table *t, const struct firewall *f,
                   const struct firewall_fold *fold, const char mark[MARK_MAX], struct err *e)
{
    struct firewall_counts next;
    if (t->present)
        (void)look(t, NULL);
    int rc = firewall_counts_next(&t->counts, f, &next, e);
    if (rc)
        return rc;
    auto_free char *text = nft_text(f, fold, mark, &next);
    rc = text ? nft_run(text, 0, NULL, e) : err_set(e, HW_ENOMEM, "out of memory");
    if (rc) {
        firewall_counts_done(&next);
        return rc;
    }
    struct shape shape = shape_of(f, fold);
    adopt(t, mark, &shape, &next);
    log_info("firewall rules=%zu", f->n_rules);
    return 0;
}

/* Loads the table unless it stands there. */
static int load(struct firewall_table *t, const struct firewall *f,
                const struct firewall_fold *fold, struct err *e)
{
    char mark[MARK_MAX];
    struct firewall_counts next;
    struct shape shape = shape_of(f, fold);
    int rc = mark_of(f, fold, mark, e);
    rc = rc ? rc : firewall_counts_next(&t->counts, f, &next, e);
    if (rc)
        return rc;
    bool whole = stands(mark, &shape, &next);
    if (whole && !(t->present && strcmp(t->mark, mark) == 0)) {
        /* Of the agent that was before this one. */
        adopt(t, mark, &shape, &next);
        return 0;
    }
    firewall_counts_done(&next);
    return whole ? 0 : replace(t, f, fold, mark, e);
}

int firewall_table_apply(struct firewall_table *t, const struct firewall *f, struct err *e)
{
    struct firewall_fold fold;
    struct err mine = {0};
    int rc;
    t->wanted = f->present;
    t->wanted_id = f->ruleset_id;
    if (!f->present) {
        rc = remove_ours(t, &mine);
    } else if (!(rc = firewall_fold(f, &fold, &mine))) {
        rc = load(t, f, &fold, &mine);
        firewall_fold_done(&fold);
    }
    give_back();
    (void)snprintf(t->error, sizeof t->error, "%.*s", HW_TEXT_MAX, rc ? mine.text : "");
    if (rc && e) {
        *e = mine;
        (void)err_wrap(e, "firewall");
    }
    return rc;
}

int firewall_table_look(struct firewall_table *t, uint64_t now, struct err *e)
{
    uint64_t start = clock_mono_ns();
    if (!t->present)
        return 0;
    if (now < t->next_look_ns)
        return exists() ? 0 : err_set(e, HW_ENOTFOUND, "the table is not there");
    int rc = look(t, e);
    give_back();
    t->next_look_ns = now + LOOK_SHARE * (clock_mono_ns() - start);
    return rc;
}

int firewall_table_report(struct firewall_table *t, struct firewall_report *r, struct err *e)
{
    *r = (struct firewall_report){0};
    if (!t->present) {
        /* The first load failed: that is to be told too. */
        r->present = t->wanted && t->error[0];
        r->ruleset_id = t->wanted_id;
        memcpy(r->error, t->error, sizeof r->error);
        return 0;
    }
    int rc = firewall_counts_report(&t->counts, r, e);
    if (rc)
        return rc;
    r->present = true;
    r->applied = !t->error[0];
    memcpy(r->error, t->error, sizeof r->error);
    return 0;
}

void firewall_table_told(struct firewall_table *t)
{
    firewall_counts_told(&t->counts);
}
