#include "agent/control/keying/keylog.h"
#include "common/hex.h"
#include "common/log.h"
#include "common/secret.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void keylog_write(const struct dp_sa_install *m)
{
    const char *path = getenv("HAWSER_KEYLOG_FILE");
    const struct esp_suite *suite = esp_suite_by_id(m->suite);
    if (!path || !suite)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) {
        log_warn_limited("cannot open key log file=%s", path);
        return;
    }
    char link[ID_TEXT_MAX], key[2 * ESP_KEY_MAX + 1], salt[2 * ESP_SALT_LEN + 1];
    (void)id_text(&m->link, link);
    for (unsigned i = 0; i < m->count; i++) {
        const struct dp_sa *sa = &m->sa[i];
        (void)dprintf(fd,
                      "{\"link\":\"%s\",\"tunnel\":%u,\"direction\":\"%s\",\"spi\":%" PRIu32
                      ",\"suite\":\"%s\",\"epoch\":%" PRIu64 ",\"key\":\"%s\",\"salt\":\"%s\"}\n",
                      link, sa->tunnel, m->direction == DP_DIR_IN ? "in" : "out", sa->spi,
                      suite->name, m->epoch, hex_encode(sa->key, suite->key_len, key),
                      hex_encode(sa->salt, suite->salt_len, salt));
    }
    secret_wipe(key, sizeof key);
    secret_wipe(salt, sizeof salt);
    (void)close(fd);
}
