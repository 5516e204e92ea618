/* A store in a file of its own, and rows to put into it. */
#ifndef HAWSER_TESTS_STORE_FILE_H
#define HAWSER_TESTS_STORE_FILE_H

#include "controller/store/connection.h"
#include "controller/store/gateway.h"
#include "controller/store/link.h"
#include "controller/store/site.h"
#include "controller/store/store.h"
#include "controller/store/telemetry.h"
#include "tests/unit/suite.h"

extern char path[64];
extern struct store *store;

/* An empty store in the place of the last. */
void fresh(void);
struct db *begin(enum store_write_kind kind);

struct prefix prefix(const char *text);
struct store_site site(const char *name, const char *cidr);
struct store_gateway gateway(const char *name, const struct hw_id *site_id);
struct store_telemetry telemetry(const struct hw_id *g, uint64_t denials);

/* Two sites with a gateway each, a connection and its link; pools as by default. */
struct fleet {
    struct store_site a, b;
    struct store_gateway ga, gb;
    struct store_connection c;
    struct store_link l;
};
void make_fleet(struct fleet *f);

/* The suite in a folder of its own; what main returns. */
int store_suite_run(const char *name, CU_TestInfo *tests);

#endif
