#include "controller/audit/difference.h"
#include "common/json.h"
#include <stdlib.h>
#include <string.h>

#define OBJECT_MAX (4u << 20)

/* Members that tell what gateways reported, or that something was written at all. */
static const char *const observed[] = {
    "status",   "performance", "telemetry",  "revisions", "unconfirmed_peers",
    "counters", "gateways",    "updated_at", "revision",  "last_used_at",
};

struct telling {
    struct json_writer w;
    const struct json_at *other; /* NULL: there is none */
    const char *secret;
};

static bool is_told(const char *key, const char *secret)
{
    for (size_t i = 0; i < sizeof observed / sizeof *observed; i++)
        if (!strcmp(key, observed[i]))
            return false;
    return !secret || strcmp(key, secret) != 0;
}

static int tell_member(void *arg, const struct json_at *member, struct err *e)
{
    struct telling *t = arg;
    struct json_at other;
    if (!is_told(member->key, t->secret))
        return 0;
    char *text = json_text(member), *same = NULL;
    if (t->other && !json_member(t->other, member->key, &other, NULL))
        same = json_text(&other);
    bool equal = text && same && !strcmp(text, same);
    free(same);
    if (equal) {
        free(text);
        return 0;
    }
    json_put_raw(&t->w, member->key, text);
    return text ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

static int tell(const struct json_at *at, const struct json_at *other, const char *secret,
                char **out, struct err *e)
{
    struct telling t = {.other = other, .secret = secret};
    json_writer_init(&t.w);
    int rc = json_each_member(at, tell_member, &t, e);
    if (rc) {
        json_writer_done(&t.w);
        return rc;
    }
    *out = json_finish(&t.w, NULL);
    return *out ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

static int parse(const char *text, struct json_object **doc, struct json_at *at, struct err *e)
{
    if (!text)
        return 0;
    int rc = json_parse(text, strlen(text), OBJECT_MAX, doc, e);
    if (!rc)
        *at = json_root(*doc);
    return rc;
}

int audit_difference(const char *before, const char *after, const char *secret, char **before_out,
                     char **after_out, struct err *e)
{
    struct json_object *old = NULL, *new = NULL;
    struct json_at old_at, new_at;
    *before_out = *after_out = NULL;
    int rc = parse(before, &old, &old_at, e);
    if (!rc)
        rc = parse(after, &new, &new_at, e);
    if (!rc && old)
        rc = tell(&old_at, new ? &new_at : NULL, secret, before_out, e);
    if (!rc && new)
        rc = tell(&new_at, old ? &old_at : NULL, secret, after_out, e);
    json_free(old);
    json_free(new);
    if (rc) {
        free(*before_out);
        free(*after_out);
        *before_out = *after_out = NULL;
    }
    return rc;
}
