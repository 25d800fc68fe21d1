"""Intervals, tests and resamples of plain numbers: what needs no recommender, no metric and no table.

student               quantiles of Student's t and the normal distribution, intervals from a standard error
binomial              shares of few trials: Wilson's and the exact interval, exact tails
resampling            users drawn with replacement, and sums over them in each resample
quantile_bootstrap    quantiles and ratios of resamples, drawn from their own distribution
percentiles           intervals and p-values from values of resamples
jackknife             standard errors from leaving out groups of users
permutation_test      the sign-flip test of paired differences, exact for few
significance_tests    the other tests of paired differences: t, signed ranks, bootstrap-t
rank_tests            ranks with ties and gaps: mean ranks, Friedman's test
bradley_terry         strengths from comparisons of two, with ties
multiple_comparisons  p-values of many comparisons
power                 users, detectable difference and power of a paired comparison
bounds                the ends of an interval, and why there is none
"""
