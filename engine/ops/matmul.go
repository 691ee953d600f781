package ops

var matmulRules = []Rule{}
