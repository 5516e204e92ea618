#include "controller/push/publish.h"
#include "common/log.h"
#include "common/model/signed_doc.h"
#include "controller/app.h"
#include "controller/ca/ca.h"
#include "controller/planner/planner.h"
#include "controller/push/hub.h"
#include "controller/push/topology_load.h"
#include "controller/store/denial.h"
#include "controller/store/domain.h"
#include "controller/store/encryption_permission.h"
#include "controller/store/gateway.h"
#include "controller/store/signed.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why configs are held back; empty or unset: they are not. */
#define META_HELD "configs_held"
/* More than any store has given out since its last backup. */
#define RESTORED_REVISIONS (UINT64_C(1) << 20)
#define RESTORED_DENIALS   (UINT64_C(1) << 10)

void publish_result_done(struct publish_result *r)
{
    free(r->gateways);
    free(r->ended);
    *r = (struct publish_result){0};
}

/* ---- links ---- */

static const struct store_link *find_row(const struct loaded_topology *t, const struct hw_id *id)
{
    size_t lo = 0, hi = t->n_link_rows;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = id_cmp(&t->link_rows[mid].id, id);
        if (c == 0)
            return &t->link_rows[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static const char *gateway_name(const struct topology *t, const struct hw_id *id)
{
    for (size_t i = 0; i < t->n_gateways; i++)
        if (id_equal(&t->gateways[i].id, id))
            return t->gateways[i].name;
    return "?";
}

/* An operator is not allowed to bring about a link that can't be. One that is so already, because a
 * gateway enrolled with other addresses than expected, must not keep the operator from everything
 * else. */
static int check_refusals(const struct loaded_topology *t, const struct plan *p, struct err *e)
{
    for (size_t i = 0; i < p->n_links; i++) {
        const struct planned_link *l = &p->links[i];
        if (l->state != PLANNED_LINK_REFUSED)
            continue;
        const struct store_link *row = find_row(t, &l->id);
        if (row && row->refusal[0])
            continue;
        return err_set_field(e, HW_ECONFLICT, l->field, "link between %s and %s: %s",
                             gateway_name(&t->topology, &l->gateway_a),
                             gateway_name(&t->topology, &l->gateway_b), l->reason);
    }
    return 0;
}

static void take_plan(const struct planned_link *l, struct store_link *row)
{
    row->kind = l->kind;
    row->connection_id = l->connection_id;
    row->gateway_a_id = l->gateway_a;
    row->gateway_b_id = l->gateway_b;
    row->tunnels = l->tunnels;
    _Static_assert(sizeof row->tunnels_reason >= TUNNEL_REASON_MAX, "a reason fits");
    memcpy(row->tunnels_reason, l->tunnels_reason, TUNNEL_REASON_MAX);
    row->port_offset = l->port_offset;
    row->address_a = l->address_a;
    row->address_b = l->address_b;
    _Static_assert(sizeof row->refusal >= PLANNED_REASON_MAX, "a refusal fits");
    memcpy(row->refusal, l->reason, PLANNED_REASON_MAX);
}

static bool row_differs(const struct planned_link *l, const struct store_link *row)
{
    return row->tunnels != l->tunnels || row->port_offset != l->port_offset ||
           !ipaddr_equal(&row->address_a, &l->address_a) ||
           !ipaddr_equal(&row->address_b, &l->address_b) ||
           strcmp(row->tunnels_reason, l->tunnels_reason) != 0 ||
           strcmp(row->refusal, l->reason) != 0;
}

static bool planned(const struct plan *p, const struct hw_id *id)
{
    size_t lo = 0, hi = p->n_links;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = id_cmp(&p->links[mid].id, id);
        if (c == 0)
            return true;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

static int store_links(struct db *db, const struct loaded_topology *t, const struct plan *p,
                       struct err *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < t->n_link_rows; i++)
        if (!planned(p, &t->link_rows[i].id))
            rc = store_link_delete(db, &t->link_rows[i].id, e);
    for (size_t i = 0; !rc && i < p->n_links; i++) {
        const struct planned_link *l = &p->links[i];
        const struct store_link *row = find_row(t, &l->id);
        struct store_link now = row ? *row : (struct store_link){.id = l->id, .enabled = true};
        take_plan(l, &now);
        if (!row)
            rc = store_link_insert(db, &now, e);
        else if (row_differs(l, row))
            rc = store_link_update(db, &now, e);
    }
    return rc;
}

static int store_domains(struct db *db, const struct topology *t, const struct plan *p,
                         struct err *e)
{
    bool same = t->n_domains == p->n_domains;
    for (size_t i = 0; same && i < p->n_domains; i++)
        same = t->domains[i].number == p->domains[i].number &&
               strcmp(t->domains[i].name, p->domains[i].name) == 0;
    if (same)
        return 0;
    struct store_domain *rows = calloc(p->n_domains + 1, sizeof *rows);
    if (!rows)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < p->n_domains; i++) {
        rows[i].number = p->domains[i].number;
        memcpy(rows[i].name, p->domains[i].name, sizeof rows[i].name);
    }
    int rc = store_domain_replace(db, rows, p->n_domains, e);
    free(rows);
    return rc;
}

/* Both lists are sorted alike, and the plan's holds all of the store's. */
static int store_joins(struct db *db, const struct loaded_topology *t, const struct plan *p,
                       struct err *e)
{
    int rc = 0;
    for (size_t i = 0, k = 0; !rc && i < p->n_joins; i++) {
        const struct topo_join *now = &p->joins[i];
        bool known = k < t->n_join_rows && id_equal(&t->join_rows[k].site_a_id, &now->site_a) &&
                     id_equal(&t->join_rows[k].site_b_id, &now->site_b);
        struct store_site_join row = {
            .id = id_new(), .site_a_id = now->site_a, .site_b_id = now->site_b};
        if (known)
            row = t->join_rows[k++];
        bool same = known && row.joined == now->joined;
        row.joined = now->joined;
        if (!known)
            rc = store_site_join_insert(db, &row, e);
        else if (!same)
            rc = store_site_join_update(db, &row, e);
    }
    return rc;
}

/* ---- documents ---- */

/* A config is signed anew when its bytes differ, and when its signer has been replaced: nobody
 * could verify it after that certificate's end. */
static int config_differs(struct db *db, struct ca *ca, const struct planned_gateway *g,
                          bool *differs, struct err *e)
{
    struct store_signed old;
    int rc = store_config_get(db, &g->gateway_id, &old, e);
    *differs = true;
    if (rc)
        return rc == HW_ENOTFOUND ? 0 : rc;
    *differs = old.body_len != g->body_len || memcmp(old.body, g->body, g->body_len) != 0 ||
               !ca_is_signer(ca, old.signer, old.signer_len);
    store_signed_done(&old);
    return 0;
}

static int sign_config(struct db *db, struct ca *ca, const struct planned_gateway *g, struct err *e)
{
    struct ca_signature s;
    uint64_t revision = store_revision(db);
    int rc = ca_sign_config(ca, &g->gateway_id, revision, g->body, g->body_len, &s, e);
    if (rc)
        return rc;
    struct store_signed doc = {.number = revision,
                               .body = g->body,
                               .body_len = g->body_len,
                               .signature = s.sig,
                               .signature_len = s.sig_len,
                               .signer = s.signer_der,
                               .signer_len = s.signer_len};
    rc = store_config_put(db, &g->gateway_id, &doc, e);
    ca_signature_done(&s);
    return rc;
}

static int sign_configs(struct db *db, struct ca *ca, const struct plan *p, bool all,
                        struct publish_result *r, struct err *e)
{
    r->gateways = calloc(p->n_gateways + 1, sizeof *r->gateways);
    if (!r->gateways)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < p->n_gateways; i++) {
        const struct planned_gateway *g = &p->gateways[i];
        bool differs = true;
        int rc = all ? 0 : config_differs(db, ca, g, &differs, e);
        if (rc || !differs) {
            if (rc)
                return rc;
            continue;
        }
        rc = sign_config(db, ca, g, e);
        if (rc)
            return rc;
        r->gateways[r->n_gateways++] = g->gateway_id;
    }
    return 0;
}

static int sign_denials(struct db *db, struct ca *ca, uint64_t number, struct err *e)
{
    struct hw_id *gateways = NULL;
    char(*serials)[64] = NULL;
    struct denials d = {0};
    int rc = store_denial_all(db, &gateways, &d.n_gateways, &serials, &d.n_serials, e);
    if (rc)
        return rc;
    d.gateways = gateways;
    d.serials = calloc(d.n_serials + 1, sizeof *d.serials);
    if (d.serials)
        for (size_t i = 0; i < d.n_serials; i++)
            (void)snprintf(d.serials[i], sizeof d.serials[i], "%.*s", X509_SERIAL_MAX - 1,
                           serials[i]);
    free(serials);
    rc = store_permission_ended(db, &d.permissions, &d.n_permissions, e);
    if (rc) {
        denials_done(&d);
        return rc;
    }
    struct store_signed doc = {.number = number};
    doc.body = d.serials ? denials_encode(&d, &doc.body_len) : NULL;
    denials_done(&d);
    if (!doc.body)
        return err_set(e, HW_ENOMEM, "out of memory");
    struct ca_signature s;
    rc = ca_sign_denials(ca, number, doc.body, doc.body_len, &s, e);
    if (!rc) {
        doc.signature = s.sig;
        doc.signature_len = s.sig_len;
        doc.signer = s.signer_der;
        doc.signer_len = s.signer_len;
        rc = store_denials_doc_put(db, &doc, e);
        ca_signature_done(&s);
    }
    free(doc.body);
    return rc;
}

static int publish_denials(struct db *db, struct ca *ca, bool *changed, struct err *e)
{
    uint64_t number = 0, signed_number = 0;
    int rc = store_denial_number(db, &number, e);
    if (!rc)
        rc = store_denials_doc_number(db, &signed_number, e);
    if (rc || number == 0)
        return rc;
    bool stale = number != signed_number;
    if (!stale) {
        struct store_signed doc;
        rc = store_denials_doc_get(db, &doc, e);
        if (rc)
            return rc;
        stale = !ca_is_signer(ca, doc.signer, doc.signer_len);
        store_signed_done(&doc);
    }
    if (!stale)
        return 0;
    *changed = number != signed_number;
    return sign_denials(db, ca, number, e);
}

/* ---- permissions ---- */

/* Whatever a write was about: where it has made a condition of a permission unmet, or the date has
 * come, the permission ends with it. Encryption returns sooner rather than later, and a site that
 * is no longer trusted is no reason to refuse an operator. */
static int end_permissions(struct db *db, struct publish_result *r, struct err *e)
{
    int rc = store_permission_lapsed(db, &r->ended, &r->n_ended, e);
    for (size_t i = 0; !rc && i < r->n_ended; i++)
        rc = store_permission_end(db, &r->ended[i].connection_id, e);
    return rc;
}

static void log_ended(const struct store_lapsed *l)
{
    static const char *const reasons[] = {[PERMISSION_HOLDS] = "",
                                          [PERMISSION_OVER] = "its end date has come",
                                          [PERMISSION_UNRESILIENT] = "path_resiliency is off",
                                          [PERMISSION_UNTRUSTED] = "a site has no trusted_underlay",
                                          [PERMISSION_ELSEWHERE] =
                                              "its connection joins other sites now"};
    log_info("permission ends connection=%s: %s", l->connection, reasons[l->why]);
}

/* ---- the whole ---- */

static int publish(struct db *db, struct ca *ca, enum publish_cause cause, bool all,
                   struct publish_result *out, struct err *e)
{
    struct loaded_topology t;
    struct publish_result r = {0};
    int rc = end_permissions(db, &r, e);
    if (!rc)
        rc = topology_load(db, &t, e);
    if (rc) {
        publish_result_done(&r);
        return rc;
    }
    struct plan plan = {0};
    rc = planner_run(&t.topology, &plan, e);
    if (!rc && cause == PUBLISH_OPERATOR)
        rc = check_refusals(&t, &plan, e);
    if (!rc)
        rc = store_links(db, &t, &plan, e);
    if (!rc)
        rc = store_domains(db, &t.topology, &plan, e);
    if (!rc)
        rc = store_joins(db, &t, &plan, e);
    if (!rc)
        rc = sign_configs(db, ca, &plan, all, &r, e);
    if (!rc)
        rc = publish_denials(db, ca, &r.denials, e);
    plan_done(&plan);
    loaded_topology_done(&t);
    if (rc)
        publish_result_done(&r);
    else
        *out = r;
    return rc;
}

int publish_changes(struct app *app, struct db *db, enum publish_cause cause,
                    struct publish_result *out, struct err *e)
{
    return publish(db, app->ca, cause, false, out, e);
}

void publish_wake(struct app *app, const struct publish_result *r)
{
    /* Only now is it so: a plan ends nothing. */
    for (size_t i = 0; i < r->n_ended; i++)
        log_ended(&r->ended[i]);
    if (r->denials)
        hub_wake_all(app->hub);
    else if (r->n_gateways)
        hub_wake(app->hub, r->gateways, r->n_gateways);
}

bool publish_is_behind(const struct publish_known *store, const struct publish_known *agent)
{
    return agent->revision > store->revision || agent->denials > store->denials;
}

static int check_lead(const char *what, uint64_t own, uint64_t claimed, struct err *e)
{
    if (claimed <= own || claimed - own <= PUBLISH_LEAD_MAX)
        return 0;
    return err_set_field(e, HW_EINVAL, what, "%s %llu is out of range", what,
                         (unsigned long long)claimed);
}

int publish_hold(struct db *db, const struct hw_id *gateway, const struct publish_known *agent,
                 struct err *e)
{
    char id[ID_TEXT_MAX], why[HW_TEXT_MAX + 1];
    struct publish_known own = {.revision = store_revision(db)};
    int rc = store_denial_known(db, &own.denials, e);
    if (rc || !publish_is_behind(&own, agent))
        return rc;
    rc = check_lead("revision", own.revision, agent->revision, e);
    if (!rc)
        rc = check_lead("denials", own.denials, agent->denials, e);
    if (rc)
        return rc;
    (void)snprintf(why, sizeof why,
                   "gateway %s knows revision %llu and denials %llu, newer than this store: "
                   "restored from a backup? "
                   "Repeat later revocations, then accept",
                   id_text(gateway, id), (unsigned long long)agent->revision,
                   (unsigned long long)agent->denials);
    rc = store_revision_raise(db, agent->revision + 1, e);
    if (!rc)
        rc = store_denial_raise(db, agent->denials, e);
    if (!rc)
        rc = store_meta_set(db, META_HELD, why, e);
    if (!rc)
        log_warn("configs are held: %s", why);
    return rc;
}

int publish_restored(struct db *db, struct err *e)
{
    uint64_t denials;
    int rc = store_denial_known(db, &denials, e);
    if (!rc)
        rc = store_revision_raise(db, store_revision(db) + RESTORED_REVISIONS, e);
    if (!rc)
        rc = store_denial_raise(db, denials + RESTORED_DENIALS, e);
    return rc ? rc
              : store_meta_set(db, META_HELD,
                               "the store was restored from a backup. "
                               "Repeat later revocations, then accept",
                               e);
}

int publish_held(struct db *db, bool *held, char *why, size_t why_len, struct err *e)
{
    char *text = NULL;
    int rc = store_meta_get(db, META_HELD, &text, e);
    if (rc && rc != HW_ENOTFOUND)
        return rc;
    *held = rc == 0 && text[0];
    if (why_len)
        (void)snprintf(why, why_len, "%s", *held ? text : "");
    free(text);
    return 0;
}

int publish_accept(struct app *app, struct db *db, struct publish_result *out, struct err *e)
{
    int rc = store_meta_set(db, META_HELD, "", e);
    return rc ? rc : publish(db, app->ca, PUBLISH_AGENT, true, out, e);
}
