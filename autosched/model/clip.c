/* clip.c - sums whose terms are 0 outside a tensor: how much work is left when loops leave such terms out.
 *
 * In (I(h + r - 1) else 0) * F(r) a serial loop over r runs over the values inside alone, if no copy or lane of its
 * body has another h. With copies for each h, r must be unrolled too, outside them, and the first and last h of the
 * serial loops cut off (partition): then all is decided at compile time. space/tile/clip.c writes such schedules.
 */
#include "autosched/model/profile.h"

#include <math.h>

enum { VALUES_LIMIT = 256, SAMPLES = 8 /* values of a loop that are sampled */ };

/* One dimension of an access, along the loops of its stage. */
typedef struct Along {
    const StageFacts *stage;
    const double *slopes; /* [loop_count] */
    double offset, dim;
} Along;

static bool moves(const Along *along, int loop) {
    return along->slopes[loop] != 0 && along->stage->extents[loop] > 1;
}

static bool may_be_outside(const Along *along) {
    double low = along->offset, high = along->offset;
    for (int l = 0; l < along->stage->loop_count; l++) {
        double reach = along->slopes[l] * (along->stage->extents[l] - 1);
        low += fmin(reach, 0);
        high += fmax(reach, 0);
    }
    return low < 0 || high >= along->dim;
}

/* Whether loops decide what is inside, so that no element needs a test. */
static bool is_decided(const Along *along) {
    bool copies = false, apart = true, rolled = false;
    for (int l = 0; l < along->stage->loop_count; l++) {
        const Loop *loop = along->stage->loops[l];
        if (!moves(along, l))
            continue;
        if (loop->kind == LOOP_VECTORIZED || loop->kind == LOOP_TENSORIZED)
            return false;
        bool expanded = loop_kind_is_expanded(loop->kind);
        copies |= expanded && !loop->reduction;
        rolled |= !expanded && loop->reduction;
        apart &= expanded || loop->reduction || loop->cut_count > 0;
    }
    return !copies || (apart && !rolled);
}

/* The part of the positions low, low + step, ... high that is inside when shifted. */
static double inside_part(const Along *along, double low, double high, double step, double shift) {
    double from = fmax(low + shift, 0), to = fmin(high + shift, along->dim - 1);
    return fmin(fmax((to - from + step) / (high - low + step), 0), 1);
}

/* The mean of that part over the values of the reduction loops. */
static double kept_part(const Along *along) {
    const StageFacts *stage = along->stage;
    double low = along->offset, high = along->offset, step = HUGE_VAL, values = 1, sum = 0;
    for (int l = 0; l < stage->loop_count; l++) {
        if (!moves(along, l))
            continue;
        if (stage->loops[l]->reduction) {
            values *= stage->extents[l];
            continue;
        }
        low += fmin(along->slopes[l] * (stage->extents[l] - 1), 0);
        high += fmax(along->slopes[l] * (stage->extents[l] - 1), 0);
        step = fmin(step, fabs(along->slopes[l]));
    }
    if (values > VALUES_LIMIT)
        return 1;
    for (int v = 0; v < (int)values; v++) {
        double shift = 0, rest = v;
        for (int l = 0; l < stage->loop_count; l++)
            if (moves(along, l) && stage->loops[l]->reduction) {
                shift += along->slopes[l] * fmod(rest, stage->extents[l]);
                rest = floor(rest / stage->extents[l]);
            }
        sum += inside_part(along, low, high, step == HUGE_VAL ? 1 : step, shift);
    }
    return sum / values;
}

/* The least value of a form over the expanded loops, at sample number `sample` of the values of the others. */
static double least_value(const StageFacts *stage, const double *form, int sample) {
    double value = form[stage->loop_count];
    for (int l = 0; l < stage->loop_count; l++) {
        if (form[l] == 0 || stage->extents[l] <= 1)
            continue;
        if (loop_kind_is_expanded(stage->loops[l]->kind)) {
            value += fmin(form[l] * (stage->extents[l] - 1), 0);
            continue;
        }
        double samples = fmin(stage->extents[l], SAMPLES);
        value += form[l] * floor((sample % (int)samples + 0.5) * stage->extents[l] / samples);
        sample /= (int)samples;
    }
    return value;
}

double negative_part(const StageFacts *stage, const double *form) {
    int samples = 1, negative = 0;
    for (int l = 0; l < stage->loop_count && samples <= VALUES_LIMIT; l++)
        if (form[l] != 0 && stage->extents[l] > 1 && !loop_kind_is_expanded(stage->loops[l]->kind))
            samples *= (int)fmin(stage->extents[l], SAMPLES);
    if (samples > VALUES_LIMIT)
        return 1;
    for (int i = 0; i < samples; i++)
        negative += least_value(stage, form, i) < 0;
    return (double)negative / samples;
}

double access_clip(const StageFacts *stage, AccessFacts *access, bool omits) {
    double kept = 1;
    bool all = omits;
    for (int d = 0; d < access->rank; d++) {
        Along along = {stage, access->slopes + d * stage->loop_count, access->offsets[d], access->dims[d]};
        if (!may_be_outside(&along)) {
            access->tested[d] = access->irregular;
            continue;
        }
        bool decided = omits && is_decided(&along);
        access->tested[d] = !decided;
        kept *= decided ? kept_part(&along) : 1;
        all &= decided;
    }
    access->guarded = !all;
    return kept;
}

double predicate_clip(const StageFacts *stage, const double *form) {
    double slopes[stage->loop_count + 1];
    for (int l = 0; l < stage->loop_count; l++)
        slopes[l] = -form[l];
    Along along = {stage, slopes, -form[stage->loop_count] - 1, HUGE_VAL}; /* at least 0 where it is negative */
    return may_be_outside(&along) && is_decided(&along) ? kept_part(&along) : 1;
}
