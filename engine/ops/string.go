package ops

var stringRules = []Rule{}
