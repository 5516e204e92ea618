#include "agent/dataplane/handoff.h"

#include "agent/dataplane/spsc.h"
#include <stdlib.h>
#include <string.h>

struct handoff {
    unsigned workers;
    struct spsc *there; /* [from * workers + to]: struct handoff_item */
    struct spsc
        *home; /* [from * workers + to]: struct pktbuf *, from the taker back to the giver */
};

static struct spsc *ring(struct spsc *rings, const struct handoff *h, unsigned from, unsigned to)
{
    return &rings[from * h->workers + to];
}

static uint32_t power_of_two(uint32_t n)
{
    uint32_t p = 1;
    while (p < n)
        p <<= 1;
    return p;
}

int handoff_new(unsigned workers, unsigned buffers, struct handoff **out, struct err *e)
{
    struct handoff *h = calloc(1, sizeof *h);
    if (h == NULL)
        return err_set(e, HW_ENOMEM, "hand-off rings: out of memory");
    h->workers = workers;
    size_t bytes = (size_t)workers * workers * sizeof(struct spsc);
    h->there = aligned_alloc(64, bytes);
    h->home = aligned_alloc(64, bytes);
    if (h->there == NULL || h->home == NULL)
        goto fail;
    for (unsigned i = 0; i < workers * workers; i++)
        h->there[i] = h->home[i] = (struct spsc){0};
    for (unsigned i = 0; i < workers * workers; i++) {
        if (i / workers == i % workers)
            continue;
        if (spsc_init(&h->there[i], HANDOFF_SLOTS, sizeof(struct handoff_item), e) != 0 ||
            spsc_init(&h->home[i], power_of_two(buffers), sizeof(struct pktbuf *), e) != 0) {
            handoff_free(h);
            return HW_ENOMEM;
        }
    }
    *out = h;
    return 0;
fail:
    free(h->there);
    free(h->home);
    free(h);
    return err_set(e, HW_ENOMEM, "hand-off rings: out of memory");
}

void handoff_free(struct handoff *h)
{
    if (h == NULL)
        return;
    for (unsigned i = 0; i < h->workers * h->workers; i++) {
        spsc_done(&h->there[i]);
        spsc_done(&h->home[i]);
    }
    free(h->there);
    free(h->home);
    free(h);
}

/* A record: note, packet, room for a trailer, all in multiples of 8 so that notes are aligned. */
static uint32_t record_len(uint32_t packet_len)
{
    return (uint32_t)sizeof(struct handoff_note) + ((packet_len + HANDOFF_TAIL + 7) & ~7u);
}

bool handoff_pack(struct pktbuf *b, const struct handoff_note *note, const uint8_t *packet)
{
    if (record_len(note->len) > pktbuf_room(b))
        return false;
    uint8_t *at = b->data + b->len;
    memcpy(at, note, sizeof *note);
    memcpy(at + sizeof *note, packet, note->len);
    b->len += record_len(note->len);
    return true;
}

bool handoff_unpack(const struct pktbuf *b, uint32_t *at, struct handoff_note *note,
                    uint8_t **packet)
{
    if (*at >= b->len)
        return false;
    memcpy(note, b->data + *at, sizeof *note);
    *packet = b->data + *at + sizeof *note;
    *at += record_len(note->len);
    return true;
}

bool handoff_give(struct handoff *h, unsigned from, unsigned to, const struct handoff_item *item)
{
    struct spsc *r = ring(h->there, h, from, to);
    struct handoff_item *slot = spsc_reserve(r);
    if (slot == NULL)
        return false;
    *slot = *item;
    spsc_commit(r);
    return true;
}

const struct handoff_item *handoff_peek(struct handoff *h, unsigned from, unsigned to)
{
    return spsc_peek(ring(h->there, h, from, to));
}

void handoff_return(struct handoff *h, unsigned from, unsigned to)
{
    struct spsc *r = ring(h->there, h, from, to), *back = ring(h->home, h, from, to);
    const struct handoff_item *item = spsc_peek(r);
    /* There is room: the ring home holds as many as the giver has buffers. */
    struct pktbuf **slot = spsc_reserve(back);
    *slot = item->buf;
    spsc_commit(back);
    spsc_release(r);
}

void handoff_collect(struct handoff *h, unsigned self)
{
    for (unsigned to = 0; to < h->workers; to++) {
        if (to == self)
            continue;
        struct spsc *back = ring(h->home, h, self, to);
        struct pktbuf **slot;
        while ((slot = spsc_peek(back)) != NULL) {
            pktbuf_put(*slot);
            spsc_release(back);
        }
    }
}
