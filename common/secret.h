/* Memory that held a secret. */
#ifndef HAWSER_COMMON_SECRET_H
#define HAWSER_COMMON_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Wipes in a way that the compiler may not drop. NULL is accepted. */
void secret_wipe(void *p, size_t len);
/* Constant time in the contents; lengths are public. */
bool secret_equal(const void *a, const void *b, size_t len);

#endif
