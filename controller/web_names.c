#include "controller/web_names.h"
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static void add(struct web_names *w, const char *name, size_t len)
{
    if (len == 0 || len >= WEB_NAME_LEN || w->n == WEB_NAMES_MAX)
        return;
    for (size_t i = 0; i < w->n; i++)
        if (strlen(w->text[i]) == len && !strncasecmp(w->text[i], name, len))
            return;
    memcpy(w->text[w->n], name, len);
    w->text[w->n][len] = '\0';
    w->list[w->n] = w->text[w->n];
    w->n++;
}

static void add_text(struct web_names *w, const char *name)
{
    add(w, name, strlen(name));
}

/* Host of "HOST:PORT", "HOST" or "[V6]:PORT", up to `end`. */
static const char *host_of(const char *text, size_t *len)
{
    if (text[0] == '[') {
        *len = strcspn(text + 1, "]");
        return text + 1;
    }
    *len = strcspn(text, ":/");
    return text;
}

static int add_url(struct web_names *w, const char *url, struct err *e)
{
    size_t len = 0;
    const char *host = strncmp(url, "https://", 8) ? NULL : host_of(url + 8, &len);
    if (!host || len == 0 || len >= WEB_NAME_LEN)
        return err_set_field(e, HW_EINVAL, "url", "not https://HOST:PORT: %s", url);
    add(w, host, len);
    return 0;
}

static void add_own_addresses(struct web_names *w, unsigned family)
{
    struct ifaddrs *all, *i;
    if (getifaddrs(&all))
        return;
    for (i = all; i; i = i->ifa_next) {
        char text[IPADDR_TEXT_MAX];
        struct ipaddr a;
        uint16_t port;
        if (i->ifa_addr && !ipaddr_from_sockaddr(i->ifa_addr, &a, &port) && a.family == family &&
            !ipaddr_is_special(&a))
            add_text(w, ipaddr_text(&a, text));
    }
    freeifaddrs(all);
}

static void add_listen(struct web_names *w, const char *listen)
{
    char host[IPADDR_TEXT_MAX];
    struct ipaddr a;
    size_t len;
    const char *text = host_of(listen, &len);
    if (len >= sizeof host)
        return;
    memcpy(host, text, len);
    host[len] = '\0';
    if (ipaddr_parse(host, &a))
        return;
    struct ipaddr any = {.family = a.family};
    if (ipaddr_equal(&a, &any))
        add_own_addresses(w, a.family);
    else
        add_text(w, host);
}

static bool is_host_name(const char *s)
{
    return s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.")] == '\0';
}

int web_names_collect(const struct settings *s, const char *const *urls, size_t n_urls,
                      struct web_names *out, struct err *e)
{
    char host[WEB_NAME_LEN] = "";
    out->n = 0;
    for (size_t i = 0; i < n_urls; i++) {
        int rc = add_url(out, urls[i], e);
        if (rc)
            return rc;
    }
    (void)gethostname(host, sizeof host - 1);
    if (is_host_name(host)) /* Linux takes others; they are no names in DNS */
        add_text(out, host);
    add_text(out, "localhost");
    add_text(out, "127.0.0.1");
    add_text(out, "::1");
    for (size_t i = 0; i < s->n_listen; i++)
        add_listen(out, s->listen[i]);
    return 0;
}
