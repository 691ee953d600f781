package ops

var rnnRules = []Rule{}
