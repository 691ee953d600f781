package ops

var pointwiseRules = []Rule{}
