package ops

var softmaxRules = []Rule{}
