#include "controller/http/router.h"
#include <stdio.h>
#include <string.h>

/* Compares segment by segment; fills params as it goes. A parameter matches one non-empty segment.
 */
static bool path_matches(const char *pattern, const char *path,
                         char params[HTTP_PARAMS_MAX][HTTP_PARAM_LEN], size_t *n_params)
{
    *n_params = 0;
    while (*pattern == '/' && *path == '/') {
        pattern++;
        path++;
        size_t pattern_len = strcspn(pattern, "/"), path_len = strcspn(path, "/");
        if (*pattern == '{') {
            if (path_len == 0 || path_len >= HTTP_PARAM_LEN || *n_params == HTTP_PARAMS_MAX)
                return false;
            memcpy(params[*n_params], path, path_len);
            params[(*n_params)++][path_len] = '\0';
        } else if (pattern_len != path_len || memcmp(pattern, path, path_len) != 0) {
            return false;
        }
        pattern += pattern_len;
        path += path_len;
    }
    return *pattern == '\0' && *path == '\0';
}

/* "GET, HEAD" for GET, since HEAD is answered wherever GET is. */
static void allow_add(char allow[ROUTER_ALLOW_MAX], enum http_method m)
{
    size_t used = strlen(allow);
    (void)snprintf(allow + used, ROUTER_ALLOW_MAX - used, "%s%s", used ? ", " : "",
                   m == HTTP_GET ? "GET, HEAD" : http_method_name(m));
}

int router_match(const struct http_route *routes, size_t n, struct http_request *req,
                 const struct http_route **out, char allow[ROUTER_ALLOW_MAX])
{
    allow[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const struct http_route *r = &routes[i];
        if (r->listener != req->listener ||
            !path_matches(r->path, req->path, req->params, &req->n_params))
            continue;
        if (r->method == req->method) {
            *out = r;
            return 0;
        }
        allow_add(allow, r->method);
    }
    req->n_params = 0;
    return allow[0] ? HW_EFORBIDDEN : HW_ENOTFOUND;
}
