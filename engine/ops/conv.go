package ops

var convRules = []Rule{}
