package ops

var primRules = []Rule{}
