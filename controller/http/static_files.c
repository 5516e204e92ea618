#include "controller/http/static_files.h"
#include "common/fsutil.h"
#include "common/hex.h"
#include "common/log.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 200
#define BYTES_MAX ((size_t)16 << 20)
#define DEPTH_MAX 4
#define NAME_MAX_ 200
#define INDEX     "index.html"
#define HASHED    "assets/" /* names below it hold a hash of the contents */

#define ETAG_BYTES 16 /* of SHA-256: tells versions of one file apart */

struct file {
    char name[NAME_MAX_];
    const char *type;
    char *data;
    size_t len;
    char etag[2 * ETAG_BYTES + 3]; /* with its quotes */
};

struct static_files {
    struct file files[FILES_MAX];
    size_t n, bytes;
    const struct file *index;
};

static const char *type_of(const char *name)
{
    static const struct {
        const char *suffix, *type;
    } known[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".json", "application/json"},
        {".png", "image/png"},
        {".txt", "text/plain; charset=utf-8"},
        {".woff2", "font/woff2"},
        {".webmanifest", "application/manifest+json"},
    };
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].suffix);
        if (len > n && !strcmp(name + len - n, known[i].suffix))
            return known[i].type;
    }
    return "application/octet-stream";
}

static bool name_ok(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return name[0] != '.' && strspn(name, plain) == strlen(name);
}

static int set_etag(struct file *f, struct err *e)
{
    uint8_t hash[32];
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, f->data, f->len, hash))
        return err_set(e, HW_EFAIL, "%s: no hash", f->name);
    char hex[2 * ETAG_BYTES + 1];
    (void)snprintf(f->etag, sizeof f->etag, "\"%s\"", hex_encode(hash, ETAG_BYTES, hex));
    return 0;
}

static int add_file(struct static_files *f, const char *path, const char *name, struct err *e)
{
    if (f->n == FILES_MAX)
        return err_set(e, HW_ETOOBIG, "more than %d files", FILES_MAX);
    struct file *to = &f->files[f->n];
    int rc = fsutil_read(path, BYTES_MAX - f->bytes, &to->data, &to->len, e);
    if (rc)
        return rc;
    (void)snprintf(to->name, sizeof to->name, "%s", name);
    to->type = type_of(name);
    f->bytes += to->len;
    f->n++;
    return set_etag(to, e);
}

static int add_folder(struct static_files *f, const char *dir, const char *prefix, unsigned depth,
                      struct err *e);

/* `prefix` is "" or ends in a slash. Neither links nor devices are followed or opened. */
static int add_entry(struct static_files *f, const char *dir, const char *prefix, const char *entry,
                     unsigned depth, struct err *e)
{
    char path[PATH_MAX], name[NAME_MAX_];
    struct stat st;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, entry) >= sizeof path ||
        (size_t)snprintf(name, sizeof name - 1, "%s%s", prefix, entry) >= sizeof name - 1)
        return err_set(e, HW_ETOOBIG, "%s%s: name too long", prefix, entry);
    if (lstat(path, &st))
        return err_errno(e, errno, "look at %s", path);
    if (name_ok(entry) && S_ISREG(st.st_mode))
        return add_file(f, path, name, e);
    if (name_ok(entry) && S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
        strcat(name, "/");
        return add_folder(f, path, name, depth + 1, e);
    }
    log_warn("console: %s is left out: not a plain file with a plain name", path);
    return 0;
}

static int add_folder(struct static_files *f, const char *dir, const char *prefix, unsigned depth,
                      struct err *e)
{
    DIR *d = opendir(dir);
    if (!d && errno == ENOENT)
        return err_set(e, HW_ENOTFOUND, "there is no folder %s", dir);
    if (!d)
        return err_errno(e, errno, "open %s", dir);
    int rc = 0;
    for (struct dirent *entry; !rc && (entry = readdir(d));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = add_entry(f, dir, prefix, entry->d_name, depth, e);
    (void)closedir(d);
    return rc;
}

static const struct file *find(const struct static_files *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (!strcmp(f->files[i].name, name))
            return &f->files[i];
    return NULL;
}

int static_files_load(const char *dir, struct static_files **out, struct err *e)
{
    struct static_files *f = calloc(1, sizeof *f);
    if (!f)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = add_folder(f, dir, "", 0, e);
    f->index = find(f, INDEX);
    if (!rc && !f->index)
        rc = err_set(e, HW_ENOTFOUND, "there is no " INDEX " in %s", dir);
    if (rc) {
        static_files_free(f);
        return rc;
    }
    *out = f;
    return 0;
}

void static_files_free(struct static_files *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++)
        free(f->files[i].data);
    free(f);
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Pages of the console have no dot in their last segment and stay clear of what others serve. */
static bool is_page(const char *path)
{
    const char *last = strrchr(path, '/');
    return last && !strchr(last, '.') && !begins(path, "/api/") && !begins(path, "/agent/") &&
           !begins(path, "/metrics");
}

/* RFC 9110 section 12.5.3, as browsers use it: a list of names, with ";q=0" for a refusal. */
static bool takes_gzip(const struct http_request *req)
{
    const char *p = http_request_header(req, "Accept-Encoding");
    while (p && *p) {
        p += strspn(p, " \t,");
        size_t len = strcspn(p, ",");
        size_t name = strcspn(p, " \t;,");
        if (name == 4 && !strncasecmp(p, "gzip", 4))
            return !memmem(p, len, "q=0", 3) || memmem(p, len, "q=0.", 4);
        p += len;
    }
    return false;
}

static const struct file *packed(const struct static_files *f, const struct file *plain)
{
    char name[NAME_MAX_ + 4];
    (void)snprintf(name, sizeof name, "%s.gz", plain->name);
    return find(f, name);
}

/* A strong comparison would be as good: no entity tag here is weak, and lists of them are searched
 * for ours; "*" is whatever there is (RFC 9110 section 13.1.2). */
static bool is_known(const struct http_request *req, const struct file *f)
{
    const char *tags = http_request_header(req, "If-None-Match");
    return tags && (!strcmp(tags, "*") || strstr(tags, f->etag));
}

bool static_files_answer(const struct static_files *f, const struct http_request *req,
                         struct http_response *res)
{
    if (!f || req->listener != HTTP_PEOPLE || req->method != HTTP_GET || req->path[0] != '/')
        return false;
    const struct file *plain = find(f, req->path + 1);
    if (!plain)
        plain = is_page(req->path) ? f->index : NULL;
    if (!plain)
        return false;
    const struct file *gz = packed(f, plain), *sent = gz && takes_gzip(req) ? gz : plain;
    bool hashed = begins(plain->name, HASHED);
    http_response_page(res, hashed ? "public, max-age=31536000, immutable" : "no-cache");
    if (gz)
        http_response_header(res, "Vary", "Accept-Encoding");
    if (!hashed)
        http_response_header(res, "ETag", "%s", sent->etag);
    if (!hashed && is_known(req, sent)) {
        http_response_empty(res, 304);
        return true;
    }
    if (sent == gz)
        http_response_header(res, "Content-Encoding", "gzip");
    http_response_static(res, 200, plain->type, sent->data, sent->len);
    return true;
}
