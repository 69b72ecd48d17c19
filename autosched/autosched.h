/* autosched.h - finding schedules: by rules (-O1), by a static model (-O2), by measuring (-O tune).
 *
 * The doors of what the folder holds: spaces of schedules, models of their speed, records of what was measured,
 * searches.
 */
#ifndef AUTOSCHED_AUTOSCHED_H
#define AUTOSCHED_AUTOSCHED_H

#include "autosched/model/model.h"
#include "autosched/records/records.h"
#include "autosched/search/search.h"
#include "autosched/space/space.h"

#endif
