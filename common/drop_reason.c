#include "common/drop_reason.h"

static const struct {
    const char *name, *text;
} reasons[] = {
#define DROP_ROW_(id, name, text) [id] = {name, text},
    DROP_REASONS(DROP_ROW_)
#undef DROP_ROW_
};

const char *drop_reason_name(unsigned reason)
{
    return reason < DROP_COUNT ? reasons[reason].name : "unknown";
}

const char *drop_reason_text(unsigned reason)
{
    return reason < DROP_COUNT ? reasons[reason].text : "unknown reason";
}
