#include "agent/control/cloud/cloud.h"
#include "agent/control/cloud/dmi.h"
#include "agent/control/cloud/reader.h"
#include "agent/control/cloud/user_data.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "common/json.h"
#include "common/log.h"
#include "common/secret.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "cloud.json"
#define FILE_MAX  16384
#define AGAIN_NS  (300 * NS_PER_S) /* a public address may come or go while the machine runs */
#define RETRY_NS  (60 * NS_PER_S)
#define REST_NS   (30 * NS_PER_S) /* between two looks for a token */

struct cloud {
    struct evloop *loop;
    const struct agent_settings *settings;
    cloud_fn read;
    void *arg;
    const struct cloud_provider *provider; /* NULL: nobody to ask */
    struct cloud_facts facts;
    char *token; /* secret */
    bool known;  /* facts are from the service, now or earlier */
    bool tried;
    uint64_t ended_ns; /* the newest reading */
    int64_t read_at;   /* wall clock of the newest good reading; 0: none since the start */
    struct err why;    /* of the newest reading; "" when it was good */
    struct cloud_reader *reader;
    struct ev_timer *again;
};

/* ---- on disk ---- */

static void load(struct cloud *c)
{
    char path[PATH_MAX];
    auto_free char *json = NULL;
    size_t len;
    struct cloud_facts f;
    struct err e = {0};
    if (agent_path(c->settings->state_dir, FILE_NAME, path, sizeof path, NULL) < 0)
        return;
    int rc = fsutil_read(path, FILE_MAX, &json, &len, &e);
    rc = rc ? rc : cloud_facts_decode(json, len, &f, &e);
    if (rc < 0) {
        if (rc != HW_ENOTFOUND)
            log_warn("%s: not used: %s", path, e.text);
        return;
    }
    /* An image that moved from one cloud to another knows nothing. */
    c->known = strcmp(f.where.provider, c->provider->name) == 0;
    if (c->known)
        c->facts = f;
}

static void save(const struct cloud *c)
{
    char path[PATH_MAX];
    size_t len;
    struct err e = {0};
    auto_free char *json = cloud_facts_encode(&c->facts, &len);
    if (!json || agent_path(c->settings->state_dir, FILE_NAME, path, sizeof path, &e) < 0 ||
        fsutil_write(path, json, len, 0600, &e) < 0)
        log_warn("what the cloud says is not kept: %s", json ? e.text : "out of memory");
}

/* ---- reading ---- */

static void take_token(struct cloud *c, const struct cloud_reading *r)
{
    if (!r->want_user_data)
        return;
    char *token = r->user_data ? user_data_token(r->user_data, r->user_data_len) : NULL;
    cloud_forget_token(c);
    c->token = token;
}

static bool take_facts(struct cloud *c, const struct cloud_reading *r)
{
    struct cloud_facts f = r->facts;
    (void)snprintf(f.where.provider, sizeof f.where.provider, "%s", c->provider->name);
    bool changed = !c->known || !cloud_facts_equal(&f, &c->facts);
    c->facts = f;
    c->known = true;
    c->read_at = clock_wall_s();
    if (changed) {
        log_info("cloud=%s region=%s size=%s translations=%zu", f.where.provider, f.where.region,
                 f.where.size, f.n_translations);
        save(c);
    }
    return changed;
}

static void on_read(void *arg, int rc, struct cloud_reading *r, const struct err *why)
{
    struct cloud *c = arg;
    bool changed = false;
    c->tried = true;
    c->ended_ns = clock_mono_ns();
    if (rc == 0) {
        c->why.text[0] = '\0';
        changed = take_facts(c, r);
        take_token(c, r);
    } else {
        if (strcmp(c->why.text, why->text) != 0)
            log_warn("the metadata service of %s: %s", c->provider->name, why->text);
        c->why = *why;
    }
    cloud_reader_free(c->reader);
    c->reader = NULL;
    evloop_timer_arm(c->again, rc == 0 ? AGAIN_NS : RETRY_NS);
    c->read(c->arg, changed);
}

bool cloud_read(struct cloud *c, bool want_token)
{
    bool rests = c->read_at && !c->why.text[0] && clock_mono_ns() < c->ended_ns + REST_NS;
    if (!c->provider || (want_token && rests))
        return false;
    if (c->reader)
        return true;
    struct err e = {0};
    if (cloud_reader_start(c->loop, c->provider, want_token, on_read, c, &c->reader, &e) == 0)
        return true;
    log_error("the metadata service of %s: %s", c->provider->name, e.text);
    c->tried = true;
    evloop_timer_arm(c->again, RETRY_NS);
    return false;
}

static void on_again(void *arg)
{
    (void)cloud_read(arg, false);
}

/* ---- life ---- */

static const struct cloud_provider *choose(const struct agent_settings *s)
{
    const char *name = strcmp(s->cloud, "auto") == 0 ? cloud_dmi_provider(s->dmi_dir) : s->cloud;
    return name ? cloud_provider_find(name) : NULL;
}

int cloud_new(struct evloop *loop, const struct agent_settings *s, cloud_fn read, void *arg,
              struct cloud **out, struct err *e)
{
    struct cloud *c = calloc(1, sizeof *c);
    if (c)
        c->again = evloop_timer_add(loop, on_again, c);
    if (!c || !c->again) {
        free(c);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    c->loop = loop;
    c->settings = s;
    c->read = read;
    c->arg = arg;
    c->provider = choose(s);
    if (c->provider)
        load(c);
    *out = c;
    return 0;
}

void cloud_free(struct cloud *c)
{
    if (!c)
        return;
    cloud_reader_free(c->reader);
    cloud_forget_token(c);
    evloop_timer_remove(c->again);
    free(c);
}

bool cloud_settled(const struct cloud *c)
{
    return !c->provider || c->known || c->tried;
}

const struct cloud_facts *cloud_facts(const struct cloud *c)
{
    return &c->facts;
}

const char *cloud_token(const struct cloud *c)
{
    return c->token;
}

void cloud_forget_token(struct cloud *c)
{
    if (c->token)
        secret_wipe(c->token, strlen(c->token));
    free(c->token);
    c->token = NULL;
}

void cloud_explain(const struct cloud *c, struct err *e)
{
    if (!c->provider || e->code != HW_ENOTFOUND)
        return;
    if (c->why.text[0])
        (void)err_wrap(e, "no user data of %s (%.250s)", c->provider->name, c->why.text);
    else
        (void)err_wrap(e, "no token in the user data of %s", c->provider->name);
}

/* ---- what came from where ---- */

static void one_of(const char *set, const char *said, char out[HW_NAME_MAX + 1])
{
    (void)snprintf(out, HW_NAME_MAX + 1, "%s", set ? set : said);
}

void cloud_where(const struct agent_settings *s, const struct cloud_facts *f,
                 struct node_cloud *out)
{
    one_of(s->provider, f->where.provider, out->provider);
    one_of(s->region, f->where.region, out->region);
    one_of(s->size, f->where.size, out->size);
}

static void put_value(struct json_writer *w, const char *key, const char *set, const char *said)
{
    if (!set && !said[0]) {
        json_put_null(w, key);
        return;
    }
    json_open_object(w, key);
    json_put_str(w, "value", set ? set : said);
    json_put_str(w, "source", set ? "settings" : "metadata");
    json_close(w);
}

static const struct cloud_translation *translation(const struct cloud_facts *f,
                                                   const struct ipaddr *outside)
{
    for (size_t i = 0; i < f->n_translations; i++)
        if (ipaddr_equal(&f->translations[i].outside, outside))
            return &f->translations[i];
    return NULL;
}

static bool on_interface(const struct node *n, const struct ipaddr *a)
{
    for (size_t i = 0; i < n->n_interfaces; i++)
        for (size_t k = 0; k < n->interfaces[i].n_addresses; k++)
            if (ipaddr_equal(&n->interfaces[i].addresses[k].addr, a))
                return true;
    return false;
}

/* Endpoints that stand on no interface. */
static void put_public(struct json_writer *w, const struct cloud *c, const struct node *n)
{
    bool set = c->settings->public_addresses.n > 0;
    json_open_array(w, "public_addresses");
    for (size_t i = 0; i < n->n_endpoints; i++) {
        const struct ipaddr *a = &n->endpoints[i].address;
        if (on_interface(n, a))
            continue;
        const struct cloud_translation *t = set ? NULL : translation(&c->facts, a);
        json_open_object(w, NULL);
        json_put_ip(w, "address", a);
        if (t)
            json_put_ip(w, "inside", &t->inside);
        else
            json_put_null(w, "inside");
        json_put_str(w, "source", set ? "settings" : "metadata");
        json_close(w);
    }
    json_close(w);
}

void cloud_status_put(struct json_writer *w, const struct cloud *c, const struct node *node)
{
    const struct agent_settings *s = c->settings;
    const struct node_cloud *said = &c->facts.where;
    json_open_object(w, "cloud");
    json_put_str(w, "service", c->provider ? c->provider->name : NULL);
    if (c->read_at)
        json_put_int(w, "read_at", c->read_at);
    else
        json_put_null(w, "read_at");
    json_put_str(w, "error", c->why.text[0] ? c->why.text : NULL);
    put_value(w, "provider", s->provider, said->provider);
    put_value(w, "region", s->region, said->region);
    put_value(w, "size", s->size, said->size);
    put_public(w, c, node);
    json_close(w);
}
