/*
 * What a cloud is to us: which requests its metadata service takes, in which order, and how each
 * answer is read. Pure: a provider touches no socket; reader.c asks for it.
 */
#ifndef HAWSER_AGENT_CONTROL_CLOUD_PROVIDER_H
#define HAWSER_AGENT_CONTROL_CLOUD_PROVIDER_H

#include "agent/control/cloud/facts.h"
#include "common/err.h"
#include <stdbool.h>
#include <stddef.h>

#define CLOUD_ADDRESS       "http://169.254.169.254"
#define CLOUD_PATH_MAX      192
#define CLOUD_HEADER_MAX    512
#define CLOUD_ITEMS_MAX     16
#define CLOUD_ITEM_MAX      48
#define CLOUD_ANSWER_MAX    (256u << 10)
#define CLOUD_USER_DATA_MAX (64u << 10)

struct cloud_ask {
    const char *method;
    char path[CLOUD_PATH_MAX];
    const char *header;  /* "Name: value", or NULL */
    const char *refused; /* what to say when the answer is not 200; NULL: nothing more */
    bool may_miss;       /* 404 is an answer: there is none */
    bool user_data;      /* the operator's own text, of any size */
};

struct cloud_answer {
    int status; /* 200, or 404 where it may miss */
    const char *body;
    size_t len;
    const char *flavor; /* header Metadata-Flavor, or NULL */
};

/* Lines of a directory's listing, without the slash behind a directory's name. */
struct cloud_items {
    char item[CLOUD_ITEMS_MAX][CLOUD_ITEM_MAX];
    size_t n;
};

/* One pass over a service. */
struct cloud_reading {
    struct cloud_facts facts;
    bool want_user_data;
    unsigned step; /* provider's own */
    size_t i, j;   /* within its lists */
    struct cloud_items outer, inner;
    char session[CLOUD_HEADER_MAX]; /* header line with a session's token; secret */
    char *user_data;                /* as the operator wrote it; secret, or NULL */
    size_t user_data_len;
};
/* Wipes. */
void cloud_reading_done(struct cloud_reading *r);

struct cloud_provider {
    const char *name;
    const char *address6; /* of the service where there is no IPv4; NULL: none */
    /* The next request; false when all is known. */
    bool (*ask)(struct cloud_reading *r, struct cloud_ask *out);
    /* Reads the answer to it. Negative: this is no such service, or it says nothing of use. */
    int (*take)(struct cloud_reading *r, const struct cloud_answer *a, struct err *e);
};

extern const struct cloud_provider cloud_aws, cloud_azure, cloud_gcp, cloud_oci;
/* By its name; NULL when there is none. */
const struct cloud_provider *cloud_provider_find(const char *name);

/* For providers. The text is kept as user data; base64: decoded first, and what is none is left
 * alone: it is somebody else's. */
int cloud_take_user_data(struct cloud_reading *r, const struct cloud_answer *a, bool base64,
                         struct err *e);
/* Only characters of hexadecimal numbers and addresses pass: items become parts of paths. */
int cloud_take_items(struct cloud_items *out, const struct cloud_answer *a, struct err *e);

#endif
