/* autosched.h - finding schedules: by rules (-O1), by a static model (-O2), by measuring (-O tune).
 *
 * Includes the doors of the sub-folders (spaces of schedules, models of their speed, records of measurements, searches)
 * and plans of functions, which stand on them.
 */
#ifndef AUTOSCHED_AUTOSCHED_H
#define AUTOSCHED_AUTOSCHED_H

#include "autosched/model/model.h"
#include "autosched/plan.h"
#include "autosched/records/records.h"
#include "autosched/search/search.h"
#include "autosched/space/space.h"

#endif
