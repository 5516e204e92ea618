/* Fleets for the planner's tests: built by calls, or read from a JSON file. Ids say what they are:
 * the first group is the kind in ASCII, the last one a counter. */
#ifndef HAWSER_TESTS_FLEET_FIXTURE_H
#define HAWSER_TESTS_FLEET_FIXTURE_H

#include "controller/planner/planner.h"

#define FIXTURE_SITES       40
#define FIXTURE_GATEWAYS    120
#define FIXTURE_CONNECTIONS 120
#define FIXTURE_LINKS       2000
#define FIXTURE_PREFIXES    6

struct fixture {
    struct topology t; /* points into the arrays below */
    struct topo_site sites[FIXTURE_SITES];
    struct prefix prefixes[FIXTURE_SITES][FIXTURE_PREFIXES];
    struct topo_gateway gateways[FIXTURE_GATEWAYS];
    struct topo_connection connections[FIXTURE_CONNECTIONS];
    struct topo_link links[FIXTURE_LINKS];
    struct topo_domain domains[FIXTURE_SITES];
    struct topo_join joins[FIXTURE_SITES * FIXTURE_SITES / 2];
    unsigned next_link_id;
};

struct fixture *fixture_new(void);
void fixture_free(struct fixture *f);

struct hw_id fixture_id(const char kind[4], unsigned number);

/* Returns the index. `prefixes`: separated by spaces. */
size_t fixture_site(struct fixture *f, const char *name, enum site_role role, const char *prefixes);
void fixture_prefix(struct fixture *f, size_t site, const char *prefix);
/* Enrolled, with overlay addresses of its number; endpoints "10.1.0.1" (private, on the machine),
 * several separated by spaces; a trailing "!" makes one unreachable, a leading "+" public, "+~"
 * public and translated. */
size_t fixture_gateway(struct fixture *f, size_t site, const char *name, const char *endpoints);
size_t fixture_connection(struct fixture *f, const char *name, size_t site_a, size_t site_b);

/* What a store would keep of a plan: its links, domains and joins become existing ones. */
void fixture_keep(struct fixture *f, const struct plan *p);

/* {"sites":[{name,role,domain?,prefixes}],"gateways":[{name,site,state?,weight?,workers?,endpoints}],
 *  "connections":[{name,a,b,path?,family?,tunnels?,enabled?}],"joins"?:[{a,b}]}, sites by name.
 * Stops the program on a bad file. */
struct fixture *fixture_read(const char *path);

#endif
