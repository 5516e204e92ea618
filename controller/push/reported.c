#include "controller/push/reported.h"
#include "common/json.h"
#include "common/strbuf.h"
#include <stdlib.h>

static int parse(const char *interfaces_json, struct node *out, struct err *e)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "{\"interfaces\":%s,\"endpoints\":[]}", interfaces_json);
    struct json_object *doc = NULL;
    int rc = text.failed ? err_set(e, HW_ENOMEM, "out of memory")
                         : json_parse(text.data, text.len, HW_REQUEST_BODY_MAX, &doc, e);
    strbuf_done(&text);
    if (rc)
        return rc;
    struct json_at root = json_root(doc);
    rc = node_get(&root, out, e);
    json_free(doc);
    return rc;
}

int reported_node(const struct store_gateway *g, struct node **out, struct err *e)
{
    *out = NULL;
    if (!g->interfaces_json)
        return 0;
    struct node *node = calloc(1, sizeof *node);
    int rc = node ? parse(g->interfaces_json, node, e) : err_set(e, HW_ENOMEM, "out of memory");
    if (rc) {
        free(node);
        return err_wrap(e, "interfaces of gateway %s", g->name);
    }
    *out = node;
    return 0;
}

const struct node_interface *reported_interface(const struct node *n, const struct ipaddr *a)
{
    for (size_t i = 0; n && i < n->n_interfaces; i++)
        for (size_t k = 0; k < n->interfaces[i].n_addresses; k++)
            if (ipaddr_equal(&n->interfaces[i].addresses[k].addr, a))
                return &n->interfaces[i];
    return NULL;
}
