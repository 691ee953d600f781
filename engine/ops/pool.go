package ops

var poolRules = []Rule{}
