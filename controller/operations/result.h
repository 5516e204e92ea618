/* Results as the API shows them: what an agent reported, judged and completed with names. */
#ifndef HAWSER_CONTROLLER_OPERATIONS_RESULT_H
#define HAWSER_CONTROLLER_OPERATIONS_RESULT_H

#include "common/err.h"
#include "controller/store/operation.h"

/* *out: the report's result as its schema has it (to free), with names and the gateway's id in a
 * trace. HW_EINVAL: it is not such a result. */
int result_complete(struct db *db, const char *kind, const struct hw_id *gateway_id,
                    const char *reported, char **out, struct err *e);
/* The operation's result from its steps' (outward and back; or run): *out is NULL when there is
 * none. */
int result_of_steps(const char *kind, const struct store_step *steps, size_t n, char **out,
                    struct err *e);

#endif
