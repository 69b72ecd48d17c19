/* features.h - the feature vector, for the folder's own use. */
#ifndef AUTOSCHED_FEATURES_H
#define AUTOSCHED_FEATURES_H

#include "autosched/autosched.h"
#include "autosched/profile.h"

void profile_features(const Profile *profile, const Nest *nest, float *values);
/* The static model's answer, which is one of the features: the logarithm of the speed, larger is faster. */
float features_static_score(const float *values);

#endif
