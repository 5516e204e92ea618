/* The whole route table of both listeners. */
#ifndef HAWSER_CONTROLLER_API_ROUTES_H
#define HAWSER_CONTROLLER_API_ROUTES_H

#include "controller/http/router.h"

extern const struct http_route routes[];
extern const size_t routes_count;

#endif
