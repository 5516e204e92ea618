/*
 * The console's files, read into memory once: no path of a request ever reaches the file system.
 * Names are paths below the folder, such as "assets/index-4f2a.js".
 */
#ifndef HAWSER_CONTROLLER_HTTP_STATIC_FILES_H
#define HAWSER_CONTROLLER_HTTP_STATIC_FILES_H

#include "common/err.h"
#include "controller/http/request.h"
#include "controller/http/response.h"

struct static_files;

/* All regular files below `dir` whose names are of [A-Za-z0-9._-]; others are left out with a word
 * in the log. HW_ENOTFOUND without the folder or an index.html in it; HW_ETOOBIG beyond 200 files
 * or 16 MiB. */
int static_files_load(const char *dir, struct static_files **out, struct err *e);
/* After the server's end, whose answers point into the files. NULL is accepted. */
void static_files_free(struct static_files *f);

/* Answers a GET for which there is no route: the file of that name, or index.html for a page of the
 * console. False, with the response untouched, when it is neither; `f` may be NULL. */
bool static_files_answer(const struct static_files *f, const struct http_request *req,
                         struct http_response *res);

#endif
