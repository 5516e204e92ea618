#include "controller/audit/retention.h"
#include "common/hex.h"
#include "common/json.h"
#include "controller/audit/audit.h"
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400

static char *checkpoint_text(const struct store_audit *last)
{
    char hash[2 * STORE_SHA256_LEN + 1];
    struct json_writer w;
    json_writer_init(&w);
    json_put_uint(&w, "through", last->sequence);
    json_put_str(&w, "hash", hex_encode(last->hash, sizeof last->hash, hash));
    return json_finish(&w, NULL);
}

static int remove_through(struct db *db, uint64_t through, struct err *e)
{
    struct store_audit last;
    int rc = store_audit_get(db, through, &last, e);
    if (rc)
        return rc;
    char *text = checkpoint_text(&last);
    free(last.record);
    rc = text ? audit_own(db, AUDIT_CONTROLLER, RETENTION_CHECKPOINT, text, e)
              : err_set(e, HW_ENOMEM, "out of memory");
    free(text);
    return rc ? rc : store_audit_prune(db, through, e);
}

/* Seconds since 1970 of one record. */
static int time_of(struct db *db, uint64_t sequence, int64_t *at, struct err *e)
{
    struct store_audit a;
    int rc = store_audit_get(db, sequence, &a, e);
    if (rc)
        return rc;
    *at = a.at;
    free(a.record);
    return 0;
}

int retention_prune(struct db *db, unsigned days, int64_t now, uint64_t *removed, struct err *e)
{
    struct store_audit_head head;
    uint64_t oldest = 0, keep = 0;
    int64_t newest_at = 0, oldest_at = 0;
    *removed = 0;
    int rc = store_audit_head(db, &head, e);
    if (rc || !head.sequence || !days)
        return rc;
    rc = store_audit_oldest(db, &oldest, e);
    if (!rc)
        rc = time_of(db, oldest, &oldest_at, e);
    if (!rc)
        rc = time_of(db, head.sequence, &newest_at, e);
    if (rc)
        return rc;
    int64_t end = (newest_at < now ? newest_at : now) - (int64_t)days * DAY_S;
    if (oldest_at >= end - DAY_S)
        return 0;
    rc = store_audit_first_since(db, end, &keep, e);
    if (!rc && keep > oldest)
        rc = remove_through(db, keep - 1, e);
    if (!rc && keep > oldest)
        *removed = keep - oldest;
    return rc;
}

bool retention_checkpoint(const struct store_audit *a, struct store_audit_head *out)
{
    struct store_audit_head found = {0};
    struct json_object *doc;
    struct json_at after;
    const char *text;
    if (!strstr(a->record, "\"action\":\"" RETENTION_CHECKPOINT "\"") ||
        json_parse(a->record, strlen(a->record), 1u << 20, &doc, NULL))
        return false;
    struct json_at top = json_root(doc);
    bool is = !json_get_str(&top, "action", AUDIT_ACTION_MAX, &text, NULL) &&
              !strcmp(text, RETENTION_CHECKPOINT) &&
              !json_get_object(&top, "after", &after, NULL) &&
              !json_get_uint(&after, "through", 1, INT64_MAX, &found.sequence, NULL) &&
              !json_get_str(&after, "hash", sizeof found.hash * 2 + 1, &text, NULL) &&
              !hex_decode(text, found.hash, sizeof found.hash);
    json_free(doc);
    if (is)
        *out = found;
    return is;
}
