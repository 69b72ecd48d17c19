/* features.h - the feature vector, for the folder's own use. */
#ifndef AUTOSCHED_MODEL_FEATURES_H
#define AUTOSCHED_MODEL_FEATURES_H

#include "autosched/model/model.h"
#include "autosched/model/profile.h"

void profile_features(const Profile *profile, const Nest *nest, float *values);
/* The static model's answer, which is one of the features: the logarithm of the speed; larger is faster. */
float features_static_score(const float *values);

/* Whether a feature is an estimate of the static model. */
bool feature_is_estimate(int feature);

/* xgboost.c */
extern const Setting xgboost_settings[];
bool xgboost_open(CostModel *model);
bool xgboost_fit(CostModel *model, const Examples *examples);
void xgboost_predict(CostModel *model, const float *features, int count, float *scores);
void xgboost_close(CostModel *model);

#endif
