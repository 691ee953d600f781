package ops

var normRules = []Rule{}
