/* Unaligned loads and stores in network and host order, and a bounds-checked reader and writer for
 * wire messages: after the first overrun every further access is refused and `ok` stays 0. */
#ifndef HAWSER_COMMON_BYTES_H
#define HAWSER_COMMON_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_be16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap16(v);
}
static inline uint32_t load_be32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}
static inline uint64_t load_be64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}
static inline void store_be16(void *p, uint16_t v)
{
    v = __builtin_bswap16(v);
    memcpy(p, &v, sizeof v);
}
static inline void store_be32(void *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof v);
}
static inline void store_be64(void *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof v);
}

struct byte_reader {
    const uint8_t *p;
    size_t left;
    int ok;
};
struct byte_writer {
    uint8_t *p;
    size_t left;
    size_t used;
    int ok;
};

static inline struct byte_reader byte_reader_init(const void *data, size_t len)
{
    return (struct byte_reader){.p = data, .left = len, .ok = 1};
}
static inline struct byte_writer byte_writer_init(void *data, size_t cap)
{
    return (struct byte_writer){.p = data, .left = cap, .ok = 1};
}
/* NULL when fewer than n bytes are left. */
static inline const uint8_t *byte_take(struct byte_reader *r, size_t n)
{
    if (!r->ok || r->left < n) {
        r->ok = 0;
        return NULL;
    }
    const uint8_t *p = r->p;
    r->p += n;
    r->left -= n;
    return p;
}
static inline uint8_t byte_get8(struct byte_reader *r)
{
    const uint8_t *p = byte_take(r, 1);
    return p ? *p : 0;
}
static inline uint16_t byte_get16(struct byte_reader *r)
{
    const uint8_t *p = byte_take(r, 2);
    return p ? load_be16(p) : 0;
}
static inline uint32_t byte_get32(struct byte_reader *r)
{
    const uint8_t *p = byte_take(r, 4);
    return p ? load_be32(p) : 0;
}
static inline uint64_t byte_get64(struct byte_reader *r)
{
    const uint8_t *p = byte_take(r, 8);
    return p ? load_be64(p) : 0;
}
static inline uint8_t *byte_room(struct byte_writer *w, size_t n)
{
    if (!w->ok || w->left < n) {
        w->ok = 0;
        return NULL;
    }
    uint8_t *p = w->p;
    w->p += n;
    w->left -= n;
    w->used += n;
    return p;
}
static inline void byte_put(struct byte_writer *w, const void *data, size_t n)
{
    uint8_t *p = n ? byte_room(w, n) : NULL;
    if (p)
        memcpy(p, data, n);
}
static inline void byte_put8(struct byte_writer *w, uint8_t v)
{
    byte_put(w, &v, 1);
}
static inline void byte_put16(struct byte_writer *w, uint16_t v)
{
    uint8_t *p = byte_room(w, 2);
    if (p)
        store_be16(p, v);
}
static inline void byte_put32(struct byte_writer *w, uint32_t v)
{
    uint8_t *p = byte_room(w, 4);
    if (p)
        store_be32(p, v);
}
static inline void byte_put64(struct byte_writer *w, uint64_t v)
{
    uint8_t *p = byte_room(w, 8);
    if (p)
        store_be64(p, v);
}

#endif
