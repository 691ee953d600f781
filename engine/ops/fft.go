package ops

var fftRules = []Rule{}
