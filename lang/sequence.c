/* sequence.c - conversions of half and bfloat16, which most processors lack, in instructions. */
#include "lang/sequence.h"
#include "lang/program.h"

enum { HALF_WIDENED = 10, HALF_ROUNDED = 18, BFLOAT16_WIDENED = 1, BFLOAT16_ROUNDED = 8 };

int sequence_widened(const Target *target, ElementType type) {
    if (type == TYPE_BFLOAT16)
        return BFLOAT16_WIDENED;
    return type != TYPE_HALF ? 0 : target_converts_half(target) ? 1 : HALF_WIDENED;
}

int sequence_rounded(const Target *target, ElementType type) {
    if (type == TYPE_BFLOAT16)
        return BFLOAT16_ROUNDED;
    return type != TYPE_HALF ? 0 : target_converts_half(target) ? 1 : HALF_ROUNDED;
}

int sequence_kept(const Target *target, ElementType type) {
    return sequence_rounded(target, type) + sequence_widened(target, type);
}
