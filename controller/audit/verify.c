#include "controller/audit/verify.h"
#include "common/hex.h"
#include "common/json.h"
#include "controller/audit/record.h"
#include "controller/audit/retention.h"
#include <stdlib.h>
#include <string.h>

#define BATCH 500

struct walk {
    struct audit_verdict *out;
    const struct store_audit_head *known;
    struct store_audit_head last;       /* of the records so far */
    struct store_audit_head before;     /* what the oldest record says that it follows … */
    struct store_audit_head checkpoint; /* … and what the newest checkpoint says was removed */
    bool whole;                         /* from the oldest record on */
    bool compared;                      /* `known` with what is here */
};

static int broken(struct walk *w, uint64_t sequence, const char *why)
{
    w->out->broken = sequence;
    if (why)
        err_set(&w->out->why, HW_EFAIL, "%s", why);
    return 0;
}

/* What the record itself says that it follows, where the one before is not there to ask. */
static bool read_previous(const struct store_audit *a, struct store_audit_head *out)
{
    struct json_object *doc;
    const char *text;
    *out = (struct store_audit_head){.sequence = a->sequence - 1};
    if (json_parse(a->record, strlen(a->record), 1u << 20, &doc, NULL))
        return false;
    struct json_at top = json_root(doc);
    bool ok = !json_get_str(&top, "previous_hash", 2 * STORE_SHA256_LEN + 1, &text, NULL) &&
              !hex_decode(text, out->hash, sizeof out->hash);
    json_free(doc);
    return ok;
}

/* `here` is what the chain has where a head was kept elsewhere. */
static void judge_known(struct walk *w, const struct store_audit_head *here)
{
    w->compared = true;
    if (memcmp(w->known->hash, here->hash, sizeof here->hash) != 0)
        broken(w, here->sequence, "its hash is not the one that was kept elsewhere");
}

/* Goes on until the first record that is broken. */
static void judge_one(struct walk *w, const struct store_audit *a)
{
    struct err why = {0};
    if (!w->out->count) {
        w->out->first = a->sequence;
        if (!read_previous(a, &w->last)) {
            broken(w, a->sequence, "its text is no record");
            return;
        }
        w->before = w->last;
        if (w->known && w->known->sequence == w->before.sequence)
            judge_known(w, &w->before);
        if (w->out->broken)
            return;
    }
    if (audit_record_judge(a, &w->last, &why)) {
        broken(w, a->sequence, why.text);
        return;
    }
    w->last.sequence = a->sequence;
    memcpy(w->last.hash, a->hash, sizeof a->hash);
    (void)retention_checkpoint(a, &w->checkpoint);
    w->out->count++;
    if (w->known && w->known->sequence == a->sequence)
        judge_known(w, &w->last);
}

static int walk_all(struct db *db, struct walk *w, uint64_t from, struct err *e)
{
    struct store_audit_filter f = {
        .oldest_first = true, .after = from ? from - 1 : 0, .from = INT64_MIN, .limit = BATCH};
    for (size_t n = BATCH; n == BATCH && !w->out->broken;) {
        struct store_audit *list = NULL;
        int rc = store_audit_list(db, &f, &list, &n, e);
        if (rc)
            return rc;
        for (size_t i = 0; i < n && !w->out->broken; i++)
            judge_one(w, &list[i]);
        if (n)
            f.after = list[n - 1].sequence;
        store_audit_list_done(list, n);
    }
    return 0;
}

static bool same_head(const struct store_audit_head *a, const struct store_audit_head *b)
{
    return a->sequence == b->sequence && !memcmp(a->hash, b->hash, sizeof a->hash);
}

/* The oldest record is the first of all, or follows what a checkpoint says was removed. */
static void judge_begin(struct walk *w)
{
    const struct store_audit_head none = {0};
    if (w->whole && w->out->count && !same_head(&w->before, &none) &&
        !same_head(&w->before, &w->checkpoint))
        broken(w, w->out->first,
               "the records before it are missing, and no checkpoint tells of it");
}

/* A head that no record here can be held against proves nothing, and must not look as if it did:
 * a chain that was written anew begins behind it. */
static void judge_uncompared(struct walk *w)
{
    if (w->known && !w->compared)
        broken(w, w->known->sequence,
               "the records judged here don't reach to the head that was kept elsewhere: it can't "
               "be compared");
}

static void judge_end(struct walk *w)
{
    if (w->last.sequence < w->out->head.sequence)
        broken(w, w->last.sequence + 1, "it is missing at the end");
    else if (!same_head(&w->last, &w->out->head))
        broken(w, w->last.sequence, "the head says something else");
    else if (w->known && w->known->sequence > w->last.sequence)
        broken(w, w->last.sequence + 1, "it is missing: a later head was kept elsewhere");
}

int audit_verify(struct db *db, uint64_t from, const struct store_audit_head *known,
                 struct audit_verdict *out, struct err *e)
{
    *out = (struct audit_verdict){0};
    struct walk w = {.out = out, .known = known, .whole = from <= 1};
    int rc = store_audit_head(db, &out->head, e);
    if (!rc)
        rc = walk_all(db, &w, from, e);
    if (rc)
        return rc;
    if (!out->broken)
        judge_begin(&w);
    if (!out->broken && (out->count || w.whole))
        judge_end(&w);
    if (!out->broken)
        judge_uncompared(&w);
    return 0;
}
