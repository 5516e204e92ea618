/*
 * AWS, Instance Metadata Service version 2: a PUT gives a session token that every GET must carry.
 * A service that gives none speaks version 1, which any forwarded request can reach: nothing is
 * taken from it. MTU is no category there: the interface has it by DHCP.
 */
#include "agent/control/cloud/provider.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SESSION_NAME "X-aws-ec2-metadata-token: "
#define ROOT         "/latest/meta-data/"
#define MACS         ROOT "network/interfaces/macs/"

enum { SESSION, SIZE, REGION, MACS_LIST, PUBLIC_LIST, PUBLIC, USER_DATA, DONE };

/* `outer`: MAC addresses, `inner`: public addresses of MAC i, which i and j walk through. */
static void settle(struct cloud_reading *r)
{
    if (r->step == PUBLIC && r->j >= r->inner.n) {
        r->step = PUBLIC_LIST;
        r->i++;
    }
    if (r->step == PUBLIC_LIST && r->i >= r->outer.n)
        r->step = USER_DATA;
    if (r->step == USER_DATA && !r->want_user_data)
        r->step = DONE;
}

static bool aws_ask(struct cloud_reading *r, struct cloud_ask *out)
{
    settle(r);
    *out = (struct cloud_ask){.method = "GET", .header = r->session};
    const char *mac = r->i < r->outer.n ? r->outer.item[r->i] : "";
    switch (r->step) {
    case SESSION:
        out->method = "PUT";
        out->header = "X-aws-ec2-metadata-token-ttl-seconds: 60";
        out->refused = "no session token (IMDSv2), and version 1 is not used";
        (void)snprintf(out->path, sizeof out->path, "/latest/api/token");
        return true;
    case SIZE:
        (void)snprintf(out->path, sizeof out->path, ROOT "instance-type");
        return true;
    case REGION:
        (void)snprintf(out->path, sizeof out->path, ROOT "placement/region");
        return true;
    case MACS_LIST:
        (void)snprintf(out->path, sizeof out->path, MACS);
        return true;
    case PUBLIC_LIST:
        out->may_miss = true;
        (void)snprintf(out->path, sizeof out->path, MACS "%s/ipv4-associations/", mac);
        return true;
    case PUBLIC:
        (void)snprintf(out->path, sizeof out->path, MACS "%s/ipv4-associations/%s", mac,
                       r->inner.item[r->j]);
        return true;
    case USER_DATA:
        out->may_miss = out->user_data = true;
        (void)snprintf(out->path, sizeof out->path, "/latest/user-data");
        return true;
    default:
        return false;
    }
}

/* It becomes part of a header line. */
static int take_session(struct cloud_reading *r, const struct cloud_answer *a, struct err *e)
{
    size_t len = a->len;
    while (len > 0 && isspace((unsigned char)a->body[len - 1]))
        len--;
    bool ok = len > 0 && len < sizeof r->session - sizeof SESSION_NAME;
    for (size_t i = 0; ok && i < len; i++)
        ok = isgraph((unsigned char)a->body[i]);
    if (!ok)
        return err_set(e, HW_EINVAL, "not a session token");
    (void)snprintf(r->session, sizeof r->session, SESSION_NAME "%.*s", (int)len, a->body);
    return 0;
}

/* The own addresses that a public one stands for: the first is as good as any. */
static int take_public(struct cloud_reading *r, const struct cloud_answer *a, struct err *e)
{
    struct cloud_items own;
    int rc = cloud_take_items(&own, a, e);
    if (rc || own.n == 0)
        return rc;
    return cloud_facts_translate(&r->facts, own.item[0], r->inner.item[r->j], e);
}

static int aws_take(struct cloud_reading *r, const struct cloud_answer *a, struct err *e)
{
    int rc = 0;
    switch (r->step) {
    case SESSION:
        rc = take_session(r, a, e);
        break;
    case SIZE:
        rc = cloud_facts_name(a->body, a->len, r->facts.where.size, e);
        break;
    case REGION:
        rc = cloud_facts_name(a->body, a->len, r->facts.where.region, e);
        break;
    case MACS_LIST:
        rc = cloud_take_items(&r->outer, a, e);
        break;
    case PUBLIC_LIST:
        r->j = 0;
        rc = cloud_take_items(&r->inner, a, e);
        break;
    case PUBLIC:
        rc = take_public(r, a, e);
        r->j++;
        return rc;
    default:
        rc = cloud_take_user_data(r, a, false, e);
        break;
    }
    r->step++;
    return rc;
}

const struct cloud_provider cloud_aws = {
    .name = "aws", .address6 = "http://[fd00:ec2::254]", .ask = aws_ask, .take = aws_take};
