/* A store in a folder of its own with a chain of enrolled gateways: spoke a, transit t, spoke b. */
#ifndef HAWSER_TESTS_STORE_FIXTURE_H
#define HAWSER_TESTS_STORE_FIXTURE_H

#include "common/id.h"
#include "controller/app.h"
#include "controller/store/connection.h"
#include "controller/store/gateway.h"
#include "controller/store/site.h"
#include "controller/store/store.h"

#define STORE_FIXTURE_NOW 1800000000ll

struct store_fixture {
    char dir[64];
    struct app app;             /* store, ca and hub are there */
    struct store_site sites[3]; /* a, t, b */
    struct store_gateway gateways[3];
    struct store_connection connections[2]; /* a-t, b-t */
    uint64_t woken[64];                     /* tickets */
    size_t n_woken;
};

/* Stops the program on failure. Nothing is published yet. */
void store_fixture_init(struct store_fixture *f);
void store_fixture_done(struct store_fixture *f);

struct db *store_fixture_begin(struct store_fixture *f, enum store_write_kind kind);
void store_fixture_commit(struct db *db);

#endif
