#include "controller/audit_command.h"
#include "common/hex.h"
#include "controller/audit/verify.h"
#include "controller/service_user.h"
#include "controller/store/store.h"
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define HASH_TEXT (2 * STORE_SHA256_LEN + 1)

static bool read_number(const char *text, char end_at, const char **end, uint64_t *out)
{
    char *stop;
    if (!isdigit((unsigned char)text[0]))
        return false;
    *out = strtoull(text, &stop, 10);
    *end = stop;
    return *stop == end_at && *out > 0 && *out < INT64_MAX;
}

bool audit_command_from(const char *text, struct audit_options *out)
{
    const char *end;
    return read_number(text, '\0', &end, &out->from);
}

bool audit_command_head(const char *text, struct audit_options *out)
{
    const char *end;
    out->has_known = read_number(text, ':', &end, &out->known.sequence) &&
                     !hex_decode(end + 1, out->known.hash, sizeof out->known.hash);
    return out->has_known;
}

static void print_verdict(const struct audit_verdict *v)
{
    char hash[HASH_TEXT];
    if (v->broken) {
        printf("audit: BROKEN at record %" PRIu64 ": %s\n", v->broken, v->why.text);
        printf("audit: %" PRIu64 " records before it are in order\n", v->count);
        return;
    }
    printf("audit: %" PRIu64 " records in order", v->count);
    if (v->count)
        printf(", %" PRIu64 " to %" PRIu64, v->first, v->head.sequence);
    printf("\nhead:  %" PRIu64 ":%s\n", v->head.sequence,
           hex_encode(v->head.hash, sizeof v->head.hash, hash));
}

int audit_command_verify(const struct settings *s, const struct audit_options *o, bool *intact,
                         struct err *e)
{
    char path[PATH_MAX];
    struct audit_verdict v;
    struct store *store;
    struct db *db;
    int rc = service_user_enter(s->user, s->state_dir, e);
    if (rc)
        return rc;
    (void)snprintf(path, sizeof path, "%s/hawser.db", s->state_dir);
    rc = store_open_to_read(path, &store, e);
    if (rc)
        return rc;
    rc = store_read(store, &db, e);
    if (!rc) {
        rc = audit_verify(db, o->from, o->has_known ? &o->known : NULL, &v, e);
        store_read_end(db);
    }
    store_close(store);
    if (rc)
        return rc;
    print_verdict(&v);
    *intact = v.broken == 0;
    return 0;
}
