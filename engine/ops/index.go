package ops

var indexRules = []Rule{}
