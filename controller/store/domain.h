/* Numbers of domain names, as signed configs carry them. A number stays with its name. */
#ifndef HAWSER_CONTROLLER_STORE_DOMAIN_H
#define HAWSER_CONTROLLER_STORE_DOMAIN_H

#include "common/limits.h"
#include "controller/store/store.h"

struct store_domain {
    char name[HW_NAME_MAX + 1];
    unsigned number;
};

/* By number. free() the array. */
int store_domain_all(struct db *db, struct store_domain **out, size_t *n, struct err *e);
/* Makes the table hold exactly these. */
int store_domain_replace(struct db *db, const struct store_domain *list, size_t n, struct err *e);

#endif
