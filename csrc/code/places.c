/* places.c - tell of addresses whether functions are there, and calls end there. */
#include "code/calls.h"
#include "gsym/image.h"

static gsym_status add_function(const gsym_image *image, uint64_t address, gsym_place place,
                                uint8_t *places, gsym_error *error) {
    uint32_t entry;
    cursor record;
    bool found;
    GSYM_TRY(image_find(image, address, &entry, &record, &found, error));
    if (found) *places |= (uint8_t)place;
    return GSYM_OK;
}

gsym_status gsym_code_places(const gsym_machine_code *code, const gsym_image *image,
                             const uint64_t *addresses, size_t count, uint8_t *places_ret,
                             gsym_error *error) {
    for (size_t i = 0; i < count; ++i) {
        const uint64_t address = addresses[i];
        uint8_t places = 0;
        GSYM_TRY(add_function(image, address, GSYM_PLACE_FUNCTION, &places, error));
        if (address > 0)
            GSYM_TRY(add_function(image, address - 1, GSYM_PLACE_AFTER, &places, error));
        if (gsym_code_is_known(code, address)) {
            places |= GSYM_PLACE_CODE;
            if (gsym_code_may_return(code, address)) places |= GSYM_PLACE_CALL;
        }
        places_ret[i] = places;
    }
    return GSYM_OK;
}
